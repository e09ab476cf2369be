"""The store that settings name: a folder below the home folder, or a bucket."""

from __future__ import annotations

from urllib.parse import urlsplit

from hooke.errors import ArgumentError

from hooke_api.base.settings import Settings, given_secret
from hooke_api.storage.objects import FOLDER, FolderStore, ObjectStore


def store_of(settings: Settings) -> ObjectStore:
    """Return the store of an instance. Raises ArgumentError with what is wrong with the settings."""
    folder = settings.home / FOLDER
    if not settings.objects:
        return FolderStore(folder)
    place = urlsplit(settings.objects)
    if place.scheme != "s3" or not place.netloc or place.query or place.fragment:
        raise ArgumentError(f"HOOKE_OBJECTS={settings.objects}: it has to be s3://BUCKET or s3://BUCKET/PREFIX")
    endpoint = urlsplit(settings.s3_endpoint or "")
    if endpoint.scheme not in ("http", "https") or not endpoint.netloc:
        raise ArgumentError("HOOKE_S3_ENDPOINT has to be the address of the service, https://...")
    if not settings.s3_key_id:
        raise ArgumentError("HOOKE_S3_KEY_ID has to be the id of an access key of the bucket")
    secret = settings.s3_secret
    if secret is None and settings.s3_secret_file is not None:
        secret = given_secret("HOOKE_S3_SECRET_FILE", settings.s3_secret_file)
    if not secret:
        raise ArgumentError("HOOKE_S3_SECRET, or the file HOOKE_S3_SECRET_FILE, has to hold the secret of the key")
    from hooke_api.storage.s3 import S3Store, Signer

    signer = Signer(settings.s3_key_id, secret, settings.s3_region)
    return S3Store(str(settings.s3_endpoint), place.netloc, place.path, signer, folder)
