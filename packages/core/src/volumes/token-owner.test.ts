import type { PodSpec } from "@virtual-kubelet/kube-client";
import { expect, test } from "vitest";
import { tokenOwner } from "./token-owner.ts";

const as = (runAsUser?: number) => ({ name: "c", ...(runAsUser !== undefined && { securityContext: { runAsUser } }) });
const nobodys = { mode: 0o644 };

test.each<[string, Partial<PodSpec>, ReturnType<typeof tokenOwner>]>([
  ["says nothing", { containers: [as()] }, nobodys],
  ["has one user", { securityContext: { runAsUser: 7 }, containers: [as(), as()] }, { mode: 0o600, uid: 7 }],
  ["has containers of one user", { containers: [as(7), as(7)] }, { mode: 0o600, uid: 7 }],
  ["has containers of two users", { containers: [as(7), as(8)] }, nobodys],
  ["has a container that says nothing", { containers: [as(7), as()] }, nobodys],
  ["has a container of its own user", { securityContext: { runAsUser: 7 }, containers: [as(), as(8)] }, nobodys],
  ["has an init container of another user", { initContainers: [as(8)], containers: [as(7)] }, nobodys],
  ["has an ephemeral container of another user", { ephemeralContainers: [as(8)], containers: [as(7)] }, nobodys],
  ["has all kinds of one user", { initContainers: [as(7)], ephemeralContainers: [as(7)], containers: [as(7)] }, { mode: 0o600, uid: 7 }],
  ["runs as root", { containers: [as(0)] }, { mode: 0o600, uid: 0 }],
  ["has a group", { securityContext: { fsGroup: 9 }, containers: [as(7), as(8)] }, { mode: 0o600 }],
  ["has the group 0", { securityContext: { fsGroup: 0 }, containers: [as()] }, { mode: 0o600 }],
])("the token of a pod that %s", (_what, spec, owner) => {
  expect(tokenOwner({ spec: { containers: [], ...spec } }, 0o644)).toEqual(owner);
});
