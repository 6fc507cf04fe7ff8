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

test.for([
  ["https://quay.io/", "quay.io"],
  ["http://quay.io/v1", "quay.io"],
  ["quay.io/v2", "quay.io"],
  ["quay.io/v1/coreos", "quay.io/coreos"],
  ["quay.io/v3/coreos", "quay.io/v3/coreos"],
  ["quay.io/x/v1/y", "quay.io/x/v1/y"],
  ["quay.io/v1x", "quay.io/v1x"],
  ["quay.io/a/v1", "quay.io/a/v1"],
  ["index.docker.io", "docker.io"],
  ["registry-1.docker.io/a", "docker.io/a"],
  ["other.docker.io", "other.docker.io"],
  ["xhttps://quay.io", "xhttps://quay.io"],
] as const)("the location %s is the key %s", ([location, key]) => {
  expect(registryKey(location)).toBe(key);
});

test.for<[string, string, boolean]>([
  ["a*c.io", "abc.io/x", true],
  ["a*c.io", "abbbc.io/x", true],
  ["a*c.io", "ac.io/x", true],
  ["a*c.io", "abd.io/x", false],
  ["a*b*c.io", "axbxbxc.io/x", true],
  ["a*b*c.io", "axcxb.io/x", false],
  ["*a.io", "ba.io/x", true],
  ["*a.io", "ab.io/x", false],
  ["a**.io", "a.io/x", true],
  ["a?.io", "a.io/x", false],
  ["?.io", "a.io/x", true],
  ["quay.io:443", "quay.io:443/x", true],
  ["quay.io:443/x", "quay.io:443/xy", true],
  ["quay.io:443/x", "quay.io:443/y", false],
  ["quay.io:x", "quay.io/y", false],
])("the key %s is for %s: %j", ([key, image, expected]) => {
  expect(matchesImage(key, image)).toBe(expected);
});

test("equal keys are of the same rank, and the others in the reverse of the alphabet's order", () => {
  expect([compareKeys("a", "a"), compareKeys("a", "b"), compareKeys("b", "a")]).toEqual([0, 1, -1]);
});
