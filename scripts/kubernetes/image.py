#!/usr/bin/env python3
"""An image of a container as a layout of the Open Container Initiative in one tar file, without a daemon.

usage: image.py NAME OUT.tar FILE=PATH...    PATH of the first file is what runs; FILE=PATH/ makes an empty folder of PATH

Prints NAME@sha256:DIGEST. The same files make the same bytes: nothing has a time.
"""
import hashlib
import io
import json
import os
import sys
import tarfile


def add(tar, name, data=b"", mode=0o644, kind=tarfile.REGTYPE):
    info = tarfile.TarInfo(name)
    info.size, info.mode, info.type = len(data), mode, kind
    tar.addfile(info, io.BytesIO(data))


def layer(files):
    out, folders = io.BytesIO(), set()
    with tarfile.open(fileobj=out, mode="w") as tar:
        for source, path in files:
            parts = path.strip("/").split("/")
            depth = len(parts) + 1 if path.endswith("/") else len(parts)
            for folder in ("/".join(parts[:end]) for end in range(1, depth)):
                if folder not in folders:
                    folders.add(folder)
                    add(tar, folder, mode=0o755, kind=tarfile.DIRTYPE)
            if not path.endswith("/"):
                with open(source, "rb") as file:
                    add(tar, path.strip("/"), file.read(), 0o755 if os.access(source, os.X_OK) else 0o644)
    return out.getvalue()


def main():
    name, out, *files = sys.argv[1:]
    files = [file.split("=", 1) for file in files]
    blobs = {}

    def blob(data, kind):
        digest = hashlib.sha256(data).hexdigest()
        blobs[digest] = data
        media = f"application/vnd.oci.image.{kind}"
        return {"mediaType": media, "digest": f"sha256:{digest}", "size": len(data)}

    content = blob(layer(files), "layer.v1.tar")
    config = {
        "architecture": {"aarch64": "arm64"}.get(os.uname().machine, "amd64"),
        "os": "linux",
        "config": {"Entrypoint": [files[0][1]], "Env": ["HOME=/tmp", "KDYNO_OUT=/tmp"], "User": "65532:65532"},
        "rootfs": {"type": "layers", "diff_ids": [content["digest"]]},
    }
    manifest = {
        "schemaVersion": 2,
        "mediaType": "application/vnd.oci.image.manifest.v1+json",
        "config": blob(json.dumps(config).encode(), "config.v1+json"),
        "layers": [content],
    }
    entry = blob(json.dumps(manifest).encode(), "manifest.v1+json")
    entry["annotations"] = {"io.containerd.image.name": f"{name}:test"}
    with tarfile.open(out, "w") as tar:
        add(tar, "oci-layout", b'{"imageLayoutVersion":"1.0.0"}')
        add(tar, "index.json", json.dumps({"schemaVersion": 2, "manifests": [entry]}).encode())
        for digest, data in blobs.items():
            add(tar, f"blobs/sha256/{digest}", data)
    print(f"{name}@{entry['digest']}")


main()
