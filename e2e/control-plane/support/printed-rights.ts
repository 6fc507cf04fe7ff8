import type { ControlPlaneAccess } from "@virtual-kubelet/testing";
import { expect } from "vitest";
import { Program } from "../../support/program.ts";
import { untilAllowed } from "./cluster.ts";

/** Rights that were granted. */
export interface GivenRights {
  /** Name of the service account in kube-system; the node's user has none. */
  readonly account: string;
  /** Revokes the rights. */
  readonly undo: () => Promise<unknown>;
}

/**
 * Applies the rights that the program prints for one node, and waits until they are in effect.
 *
 * @param words - flags of the program; must include `--nodename`, and `--run-as=service-account` unless it runs as the node's user
 */
export async function applyPrintedRights(controlPlane: ControlPlaneAccess, words: readonly string[]): Promise<GivenRights> {
  await using printing = new Program(["manifests", "rbac", ...words], { cwd: controlPlane.directory });
  expect(await printing.exit).toBe(0);
  const stdin = printing.stdout;
  const nodeName = words[words.indexOf("--nodename") + 1] ?? "";
  const isAccount = words.includes("--run-as=service-account");
  const account = `virtual-kubelet-${nodeName}`;
  expect(await controlPlane.kubectl(["apply", "-f", "-"], { stdin })).toMatchObject({ code: 0 });
  const user = isAccount ? `system:serviceaccount:kube-system:${account}` : `system:node:${nodeName}`;
  if (isAccount) {
    await untilAllowed(controlPlane, user, ["watch", "pods", "--all-namespaces"]);
    await untilAllowed(controlPlane, user, ["create", "leases", "-n", "kube-node-lease"]);
  }
  const limit = words.indexOf("--namespaces");
  if (limit >= 0) await untilAllowed(controlPlane, user, ["get", "secrets", "-n", words[limit + 1] ?? ""]);
  if (stdin.includes("name: extension-apiserver-authentication-reader"))
    await untilAllowed(controlPlane, user, ["get", "configmaps/extension-apiserver-authentication", "-n", "kube-system"]);
  await untilAllowed(controlPlane, user, ["get", "namespaces/kube-system"]);
  return { account, undo: () => controlPlane.kubectl(["delete", "--ignore-not-found", "-f", "-"], { stdin }) };
}
