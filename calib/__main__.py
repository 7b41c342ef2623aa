"""`python -m calib`: the command line where its script is not on the path, as in a notebook."""

from calib.cli import main

if __name__ == "__main__":
    main()
