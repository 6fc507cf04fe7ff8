import { isInvalidInput } from "@virtual-kubelet/errdefs";
import { expect, test } from "vitest";
import { contentId, parseImageReference } from "./image-reference.ts";

const digest = `sha256:${"a".repeat(64)}`;

test.for<[image: string, repository: string, pullName: string]>([
  ["nginx", "docker.io/library/nginx", "nginx:latest"],
  ["nginx:1.29", "docker.io/library/nginx", "nginx:1.29"],
  ["me/app", "docker.io/me/app", "me/app:latest"],
  ["docker.io/nginx:1", "docker.io/library/nginx", "docker.io/nginx:1"],
  ["index.docker.io/nginx:1", "docker.io/library/nginx", "index.docker.io/nginx:1"],
  ["localhost/app:1", "localhost/app", "localhost/app:1"],
  ["127.0.0.1:5000/a/b:1", "127.0.0.1:5000/a/b", "127.0.0.1:5000/a/b:1"],
  [`registry.example/a@${digest}`, "registry.example/a", `registry.example/a@${digest}`],
  [`registry.example/a:1@${digest}`, "registry.example/a", `registry.example/a:1@${digest}`],
])("%s is of repository %s, and pulled as %s", ([image, repository, pullName]) => {
  expect(parseImageReference(image)).toMatchObject({ repository, pullName });
});

test.for([
  "",
  "Nginx",
  "a b",
  "nginx:",
  "nginx:a b",
  "nginx:a:b",
  "nginx@sha256:1",
  "../x",
  "a//b",
  "-a",
  `a@${digest}@${digest}`,
  "http://x/y",
])("%j is no image's name", (image) => {
  let error: unknown;
  try {
    parseImageReference(image);
  } catch (thrown) {
    error = thrown;
  }
  expect(isInvalidInput(error)).toBe(true);
});

test("an image's content goes by the digest of the repository it was asked for by, else by its id", () => {
  const digests = [`other/app@${digest}`, `registry.example/a@${digest}`];

  expect(contentId("registry.example/a:1", { id: "sha256:1", digests })).toBe(`registry.example/a@${digest}`);
  expect(contentId("docker.io/other/app", { id: "sha256:1", digests })).toBe(`other/app@${digest}`);
  expect(contentId("busybox", { id: "sha256:1", digests: [] })).toBe("sha256:1");
  expect(contentId(digest, { id: digest, digests })).toBe(digest);
});
