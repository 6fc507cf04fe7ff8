import { expect, test } from "vitest";
import { defaultCertDirectory } from "./cert-directory.ts";

test.for([
  [{}, true, "/var/lib/virtual-kubelet/vk/pki"],
  [{}, false, "/home/me/.local/state/virtual-kubelet/vk/pki"],
  [{ XDG_STATE_HOME: "/state" }, false, "/state/virtual-kubelet/vk/pki"],
  [{ XDG_STATE_HOME: "relative" }, false, "/home/me/.local/state/virtual-kubelet/vk/pki"],
  [{ XDG_STATE_HOME: "/state" }, true, "/var/lib/virtual-kubelet/vk/pki"],
  [{ STATE_DIRECTORY: "/var/lib/a:/var/lib/b" }, true, "/var/lib/a/vk/pki"],
  [{ STATE_DIRECTORY: "" }, true, "/var/lib/virtual-kubelet/vk/pki"],
] as const)("with %j, root %s, certificates are kept in %s", ([env, isRoot, directory]) => {
  expect(defaultCertDirectory("vk", { env, isRoot, homeDir: "/home/me" })).toBe(directory);
});
