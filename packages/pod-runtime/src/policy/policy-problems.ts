import type { PodPolicy } from "./pod-policy.ts";
import { kernelNamespaceOf } from "./pod-sysctls.ts";

/** An entry of a policy that can never be meant so. */
export interface PolicyProblem {
  /** Where it is in the policy, such as `["hostPaths", 0]`. */
  readonly path: readonly (string | number)[];
  readonly message: string;
}

/** What is wrong with a policy, for a provider's configuration schema to refuse it at start. */
export function policyProblems({ hostPaths = [], sysctls = [], capabilities = [] }: PodPolicy): readonly PolicyProblem[] {
  const problems: PolicyProblem[] = [];
  for (const [index, path] of hostPaths.entries()) {
    if (path.startsWith("/") && !path.split("/").includes("..")) continue;
    problems.push({
      path: ["hostPaths", index],
      message: `expected an absolute path without "..", such as /var/log, got ${JSON.stringify(path)}`,
    });
  }
  for (const [index, pattern] of sysctls.entries()) {
    const isPattern = /^[a-z0-9]([-_a-z0-9]*[a-z0-9])?([./][a-z0-9]([-_a-z0-9]*[a-z0-9])?)*([./]?\*)?$/.test(pattern);
    if (isPattern && kernelNamespaceOf(pattern) !== undefined) continue;
    const expected = "expected a sysctl that each pod has for itself, such as net.core.somaxconn, net.* or kernel.msgmax";
    problems.push({ path: ["sysctls", index], message: `${expected}, got ${JSON.stringify(pattern)}` });
  }
  for (const [index, name] of capabilities.entries()) {
    if (/^(CAP_)?[A-Z][A-Z_]*$/.test(name)) continue;
    problems.push({
      path: ["capabilities", index],
      message: `expected a capability such as NET_ADMIN, or ALL, got ${JSON.stringify(name)}`,
    });
  }
  return problems;
}
