def sniff(name, head):
    return False


def read(path):
    return iter(())
