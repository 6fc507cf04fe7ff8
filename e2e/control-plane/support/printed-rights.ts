import type { ControlPlaneAccess } from "@virtual-kubelet/testing";
import { expect } from "vitest";
import { Program } from "../../support/program.ts";
import { untilAllowed } from "./cluster.ts";

/**
 * Applies the rights that the program's dry run prints: all but the node and its lease, which the node makes itself.
 *
 * @param words - the program's flags, but for `--dry-run`
 * @param account - name of the service account, for rights that no other test takes away; default: as printed
 * @returns what takes the rights away again, once they are the account's
 */
export async function applyPrintedRights(
  controlPlane: ControlPlaneAccess,
  words: readonly string[],
  account: string = "virtual-kubelet",
): Promise<() => Promise<unknown>> {
  await using dryRun = new Program([...words, "--dry-run"], { cwd: controlPlane.directory });
  expect(await dryRun.exit).toBe(0);
  const stdin = dryRun.stdout
    .split(/^---$/m)
    .filter((document) => !/^kind: (?:Node|Lease)$/m.test(document))
    .map((document) => document.replaceAll(/name: virtual-kubelet(?=$|-)/gm, `name: ${account}`))
    .join("---\n");
  expect(await controlPlane.kubectl(["apply", "-f", "-"], { stdin })).toMatchObject({ code: 0 });
  const user = `system:serviceaccount:kube-system:${account}`;
  await untilAllowed(controlPlane, user, ["watch", "pods", "--all-namespaces"]);
  await untilAllowed(controlPlane, user, ["create", "leases", "-n", "kube-node-lease"]);
  if (stdin.includes("name: extension-apiserver-authentication-reader"))
    await untilAllowed(controlPlane, user, ["get", "configmaps/extension-apiserver-authentication", "-n", "kube-system"]);
  for (const node of new Set(stdin.match(/(?<=name: )system:node:\S+/g)))
    await untilAllowed(controlPlane, node, ["get", "namespaces/kube-system"]);
  return () => controlPlane.kubectl(["delete", "--ignore-not-found", "-f", "-"], { stdin });
}
