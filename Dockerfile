# The service in a container. docs/guides/containers.md says how to build and run it.

# Any Linux with Python 3.11 or later, its venv module, and useradd.
ARG BASE=python:3.12-slim-bookworm

FROM ${BASE} AS build
ARG EXTRAS=service,postgresql,zstd
# The processor that kernels are compiled for. "generic" runs on every one of its architecture.
# Numba finds compiled kernels only if processor and features are named alike at run time. No
# features means those of the processor that is named, not those of the machine that builds.
ARG CPU=generic
ENV NUMBA_CPU_NAME=${CPU} \
    NUMBA_CPU_FEATURES= \
    NUMBA_CACHE_DIR=/opt/equipoise/kernels \
    PATH=/opt/equipoise/bin:$PATH
RUN python3 -m venv /opt/equipoise
WORKDIR /source
# The libraries change less often than the sources, so they are a layer of their own.
COPY constraints.txt pyproject.toml LICENSE README.md ./
RUN mkdir -p src/equipoise && touch src/equipoise/__init__.py \
    && pip install --no-cache-dir --constraint constraints.txt ".[${EXTRAS}]" \
    && pip uninstall --yes equipoise
COPY src src
RUN pip install --no-cache-dir --no-deps . && pip check
RUN equipoise doctor --compile
# Nobody but root may write, everybody may read.
RUN pip uninstall --yes pip && chmod -R go=u-w /opt/equipoise

FROM ${BASE}
ARG CPU=generic
LABEL org.opencontainers.image.title="Equipoise" \
      org.opencontainers.image.description="Ratings, tournament performance and fair teams" \
      org.opencontainers.image.licenses="MIT"
RUN groupadd --gid 10001 equipoise \
    && useradd --uid 10001 --gid 10001 --no-create-home --home-dir /nonexistent \
        --shell /usr/sbin/nologin equipoise \
    && mkdir /data && chown 10001:10001 /data && chmod 0750 /data
COPY --from=build /opt/equipoise /opt/equipoise
ENV PATH=/opt/equipoise/bin:$PATH \
    NUMBA_CPU_NAME=${CPU} \
    NUMBA_CPU_FEATURES= \
    NUMBA_CACHE_DIR=/opt/equipoise/kernels \
    PYTHONDONTWRITEBYTECODE=1 \
    EQUIPOISE_DATABASE=sqlite:////data/equipoise.db
WORKDIR /data
VOLUME ["/data"]
EXPOSE 8000
# A number: Kubernetes cannot tell from a name that it is not root.
USER 10001:10001
# The slim image has no curl.
HEALTHCHECK --interval=30s --timeout=5s --start-period=60s --retries=3 \
    CMD ["python", "-I", "-S", "-c", "import http.client as h, sys; c = h.HTTPConnection('127.0.0.1', 8000, timeout=4); c.request('GET', '/healthz'); sys.exit(c.getresponse().status != 200)"]
# The exec form: the service is process 1 and gets SIGTERM itself.
ENTRYPOINT ["equipoise"]
CMD ["serve", "--host", "0.0.0.0", "--port", "8000"]
