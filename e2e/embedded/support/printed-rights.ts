import { systemClock } from "@virtual-kubelet/clock";
import type { ClientUser } from "@virtual-kubelet/embedded-apiserver";
import { runProgram } from "virtual-kubelet";
import { testContext } from "../../../packages/cli/src/test-support/test-context.ts";

/** Objects with the rights of a service account for a node of the mock provider, as the program prints them. */
export async function printedRights(words: readonly string[]): Promise<object[]> {
  const context = testContext(systemClock);
  await runProgram(["manifests", "rbac", "--run-as=service-account", "--provider", "mock", "-o", "json", ...words], context);
  return (JSON.parse(context.stdout.text) as { items: object[] }).items;
}

/** Service account of the printed objects, as a client. */
export function accountOf(nodeName: string): ClientUser {
  return { user: `system:serviceaccount:kube-system:virtual-kubelet-${nodeName}`, groups: ["system:serviceaccounts"] };
}
