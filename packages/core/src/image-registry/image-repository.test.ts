import { expect, test } from "vitest";
import { imageRepository } from "./image-repository.ts";

test.for<[string, string]>([
  ["busybox", "docker.io/library/busybox"],
  ["busybox:1.37", "docker.io/library/busybox"],
  ["grafana/grafana:latest", "docker.io/grafana/grafana"],
  ["index.docker.io/busybox", "docker.io/library/busybox"],
  ["docker.io/grafana/grafana", "docker.io/grafana/grafana"],
  ["quay.io/coreos/etcd:v3@sha256:abc", "quay.io/coreos/etcd"],
  ["localhost/app", "localhost/app"],
  ["localhost:5000/app:1", "localhost:5000/app"],
  ["registry.example.com:5000/a/b/c", "registry.example.com:5000/a/b/c"],
  ["app@sha256:abc", "docker.io/library/app"],
])("%s is of %s", ([image, repository]) => {
  expect(imageRepository(image)).toBe(repository);
});

test.for<[string, string]>([
  ["", "docker.io/library/"],
  ["a/b/c", "docker.io/a/b/c"],
  ["docker.io/busybox", "docker.io/library/busybox"],
  ["index.docker.io/a/b", "docker.io/a/b"],
  ["registry-1.docker.io/busybox", "registry-1.docker.io/busybox"],
  ["Registry/app", "Registry/app"],
  ["registry:5000/app", "registry:5000/app"],
  ["quay.io:443/a:1@sha256:abc", "quay.io:443/a"],
  ["localhost", "docker.io/library/localhost"],
])("%j is of %j", ([image, repository]) => {
  expect(imageRepository(image)).toBe(repository);
});
