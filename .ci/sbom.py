"""The list of what a wheel brings, as cyclonedx-py reads it from an environment, with the wheel's version and hash.

`cyclonedx-py environment PYTHON --pyproject pyproject.toml | python .ci/sbom.py WHEEL > SBOM`
"""

import json
import sys
from hashlib import sha256
from pathlib import Path

wheel = Path(sys.argv[1])
sbom = json.load(sys.stdin)
itself = sbom["metadata"]["component"]
itself["version"] = wheel.name.split("-")[1]
itself["hashes"] = [{"alg": "SHA-256", "content": sha256(wheel.read_bytes()).hexdigest()}]
installers = {one["bom-ref"] for one in sbom["components"] if one["name"] in ("pip", "setuptools")}
for part, key in (("components", "bom-ref"), ("dependencies", "ref")):
    sbom[part] = [one for one in sbom[part] if one[key] not in installers]
missing = [one["name"] for one in sbom["components"] if not one.get("licenses")]
if missing:
    raise SystemExit(f"no licence is written of {', '.join(missing)}")
json.dump(sbom, sys.stdout, indent=1)
