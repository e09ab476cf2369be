# The agent of one cluster, with PyTorch and MPI. Build from the root: docker build -f docker/agent.Dockerfile .
FROM python:3.13.5-slim-bookworm@sha256:4c2cf9917bd1cbacc5e9b07320025bdb7cdf2df7b0ceaccb55e9dd7e30987419
# An index with CPU-only builds of PyTorch; empty: the builds of the default index.
ARG TORCH_INDEX_URL=
WORKDIR /srv/hooke
COPY constraints.txt docker/agent.lock ./
RUN pip install --no-cache-dir --require-hashes -r agent.lock
# PyTorch by its version alone: its builds for CPUs, and the packages of CUDA that others need, have other hashes.
RUN pip install --no-cache-dir -c constraints.txt ${TORCH_INDEX_URL:+--extra-index-url "$TORCH_INDEX_URL"} torch
COPY engine engine
RUN pip install --no-cache-dir --no-deps --no-build-isolation ./engine \
    && useradd --uid 10001 --create-home --home-dir /var/lib/hooke --key HOME_MODE=0700 hooke
USER hooke
# That an agent works in its folder; whether the server hears it, the server knows: `hooke clusters list`.
HEALTHCHECK --interval=30s --timeout=10s --start-period=60s \
    CMD ["python", "-c", \
        "import sys, pathlib as p, hooke.cluster.lock as l; sys.exit(not l.held(p.Path('/var/lib/hooke/agent.lock')))"]
ENTRYPOINT ["python", "-m", "hooke.cluster.agent"]
