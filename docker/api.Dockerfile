# The API and its dashboard. Build from the root of the repository: docker build -f docker/api.Dockerfile .
FROM python:3.13.5-slim-bookworm@sha256:4c2cf9917bd1cbacc5e9b07320025bdb7cdf2df7b0ceaccb55e9dd7e30987419 AS dashboard
WORKDIR /build
COPY docker/dashboard.lock docker/
RUN python -m venv .venv && .venv/bin/pip install --no-cache-dir --require-hashes -r docker/dashboard.lock
COPY scripts/npm scripts/npm
COPY frontend/package.json frontend/package-lock.json frontend/
RUN scripts/npm ci --no-audit --no-fund
COPY frontend frontend
COPY examples examples
COPY docs/algorithms.md docs/algorithms.json docs/
RUN scripts/npm run build

# Debian 13 has the client programs of PostgreSQL 17, which `hooke backup` calls.
FROM python:3.13.7-slim-trixie@sha256:5f55cdf0c5d9dc1a415637a5ccc4a9e18663ad203673173b8cda8f8dcacef689
WORKDIR /srv/hooke
RUN apt-get update && apt-get install -y --no-install-recommends postgresql-client-17 && rm -rf /var/lib/apt/lists/*
COPY docker/api.lock docker/
RUN pip install --no-cache-dir --require-hashes -r docker/api.lock
COPY engine engine
COPY api api
COPY --from=dashboard /build/api/hooke_api/dashboard api/hooke_api/dashboard
COPY migrations migrations
RUN pip install --no-cache-dir --no-deps --no-build-isolation ./engine ./api \
    && useradd --uid 10001 --create-home --home-dir /var/lib/hooke --key HOME_MODE=0700 hooke
USER hooke
ENV HOOKE_HOME=/var/lib/hooke HOOKE_HOST=0.0.0.0 HOOKE_PORT=7450 HOOKE_MIGRATIONS=/srv/hooke/migrations
# Of `hooke users add ...` in a container; its token is that of HOOKE_TOKEN_FILE.
ENV HOOKE_API=http://127.0.0.1:7450
EXPOSE 7450
HEALTHCHECK --interval=10s --timeout=5s --start-period=30s \
    CMD ["python", "-c", "import urllib.request as u; u.urlopen('http://127.0.0.1:7450/livez', timeout=4)"]
CMD ["python", "-m", "hooke_api"]
