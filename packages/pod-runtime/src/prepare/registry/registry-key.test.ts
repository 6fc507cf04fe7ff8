import { describe, expect, test } from "vitest";
import { compareKeys, matchesImage, registryKey } from "./registry-key.ts";

describe("matchesImage", () => {
  test.for<[string, string, boolean]>([
    ["https://index.docker.io/v1/", "busybox:1", true],
    ["docker.io", "grafana/grafana", true],
    ["registry-1.docker.io", "docker.io/library/busybox", true],
    ["index.docker.io/grafana", "grafana/grafana", true],
    ["https://index.docker.io/v1/", "quay.io/busybox", false],
    ["quay.io", "quay.io/coreos/etcd:v3", true],
    ["http://quay.io/", "quay.io/coreos/etcd", true],
    ["quay.io/v2/", "quay.io/coreos/etcd", true],
    ["quay.io/coreos", "quay.io/coreos/etcd", true],
    ["quay.io/other", "quay.io/coreos/etcd", false],
    ["*.example.com", "eu.example.com/app", true],
    ["*.example.com", "a.eu.example.com/app", false],
    ["*.example.com", "example.com/app", false],
    ["eu-*.example.com", "eu-west.example.com/app", true],
    ["r?.example.com", "r1.example.com/app", true],
    ["r?.example.com", "r12.example.com/app", false],
    ["*.*.*", "eu.example.com/app", true],
    ["registry:5000", "registry:5000/app", true],
    ["registry:5000", "registry:5001/app", false],
    ["registry.example.com", "registry.example.com:5000/app", false],
    ["*.example.com:*", "a.example.com:5000/app", false],
    ["", "busybox", false],
  ])("%s is for %s: %j", ([location, image, expected]) => {
    expect(matchesImage(registryKey(location), image)).toBe(expected);
  });

  test("is quick with a pattern made to be slow", () => {
    const pattern = `${"*a".repeat(5_000)}b`;
    expect(matchesImage(pattern, `${"a".repeat(10_000)}:80/app`)).toBe(false);
    expect(matchesImage(`${pattern}:80`, `${"a".repeat(10_000)}:80/app`)).toBe(false);
  });
});

test("what is more to the point comes first", () => {
  expect(["quay.io", "quay.io/coreos", "docker.io", "quay.io"].toSorted(compareKeys)).toEqual([
    "quay.io/coreos",
    "quay.io",
    "quay.io",
    "docker.io",
  ]);
});
