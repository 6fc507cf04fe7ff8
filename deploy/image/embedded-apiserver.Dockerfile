# The embedded API server in a container: not as root, and without writing to the image's file system. `make image IMAGE=embedded-apiserver`
# builds it. The build context is the packed and installed package (app/) and an empty folder that every user may write to (volumes/). No step
# needs the network besides the base image.
#
# Any base with Node.js 24.11 or newer as `node` on the PATH fits: docker build --build-arg BASE=…
ARG BASE=node:24-bookworm-slim
FROM ${BASE}

ARG VERSION=0.0.0
LABEL org.opencontainers.image.title="embedded-apiserver" \
      org.opencontainers.image.description="A Kubernetes API server in memory, for tests" \
      org.opencontainers.image.source="https://github.com/virtual-kubelet/virtual-kubelet-ts" \
      org.opencontainers.image.licenses="Apache-2.0" \
      org.opencontainers.image.version="${VERSION}"

COPY app/ /app/
# The kubeconfig is written to /kubeconfig/config. Mount something writable there if the file system is read-only.
COPY volumes/ /

USER 65532:65532
WORKDIR /app
EXPOSE 6443

# Docker's health; a test that must not wait for the first check waits for the line "Kubernetes v… at https://…" instead.
HEALTHCHECK --interval=3s --timeout=6s --retries=5 \
  CMD ["node", "/app/node_modules/@virtual-kubelet/embedded-apiserver/dist/program/main.js", "ready", "--port=6443"]

# Flags after the image's name are added to these, and take precedence.
ENTRYPOINT ["node", "/app/node_modules/@virtual-kubelet/embedded-apiserver/dist/program/main.js", "--host=0.0.0.0", "--port=6443", "--kubeconfig=/kubeconfig/config"]
