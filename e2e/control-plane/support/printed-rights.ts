import type { ControlPlaneAccess } from "@virtual-kubelet/testing";
import { expect } from "vitest";
import { Program } from "../../support/program.ts";

/**
 * Applies the rights that the program's dry run prints: all but the node and its lease, which the node makes itself.
 *
 * @param words - the program's flags, but for `--dry-run`
 * @param account - name of the service account, for rights that no other test takes away; default: as printed
 * @returns what takes the rights away again
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
  return () => controlPlane.kubectl(["delete", "--ignore-not-found", "-f", "-"], { stdin });
}
