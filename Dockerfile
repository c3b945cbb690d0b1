# docker build -t kontend . && docker run --rm -v "$PWD:/src" kontend explore widgets.py
FROM python:3.13-slim AS build
WORKDIR /kontend
RUN pip install --no-cache-dir build
COPY . .
RUN python -m build --wheel --outdir /dist

FROM python:3.13-slim
RUN --mount=type=bind,from=build,source=/dist,target=/dist \
    pip install --no-cache-dir "$(echo /dist/*.whl)[tls]" && useradd --create-home kontend
USER kontend
WORKDIR /src
ENTRYPOINT ["kontend"]
CMD ["--help"]
