import { expect, test } from "vitest";
import { imageNamed, lockedVersions, providerPackage } from "./image-context.ts";

test("a package of which the lockfile has one version keeps it, and one of several or from elsewhere is left open", () => {
  const lockfile = `
packages:
  "@scope/one@1.2.3": {}
  two@1.0.0: {}
  two@2.0.0: {}
  local@file:../local.tgz: {}
`;

  expect(lockedVersions(lockfile)).toEqual({ "@scope/one": "1.2.3" });
});

test("a provider of the image is named as --provider names it, and a wrong name is told with those that exist", () => {
  const packed = ["virtual-kubelet", "@virtual-kubelet/core", "@virtual-kubelet/provider-aci", "@virtual-kubelet/provider-fargate"];

  expect(providerPackage("aci", packed)).toBe("@virtual-kubelet/provider-aci");
  expect(() => providerPackage("azure", packed)).toThrow('PROVIDERS: "azure": expected names of aci, fargate');
});

test("an image has one of the names that exist", () => {
  expect(imageNamed("embedded-apiserver")).toBe("embedded-apiserver");
  expect(() => imageNamed("apiserver")).toThrow('IMAGE: "apiserver": expected virtual-kubelet or embedded-apiserver');
});
