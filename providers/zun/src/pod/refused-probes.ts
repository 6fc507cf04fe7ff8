import type { Container, DeepReadonly, Pod } from "@virtual-kubelet/core";
import type { ProbeSpec } from "@virtual-kubelet/pod-runtime/probes";
import { toCommandLine, type RefusedField } from "@virtual-kubelet/remote-pods";
import { isTooLong } from "../access/shell-words.ts";
import type { ZunConfig } from "../config/schema.ts";
import { longestStopSeconds } from "../lifecycle/end-step.ts";
import type { ObjectKind } from "./pod-mode.ts";

/** Zun's time limit for a command that it runs to its end, in seconds. Source: zun 18.0.0 zun/conf/docker.py (`execute_timeout`). */
const maxExecSeconds = 5;

const fields = ["startupProbe", "readinessProbe", "livenessProbe"] as const;

/** Facts that determine which probes can be run. */
export interface ProbeMeans {
  readonly kind: ObjectKind;
  readonly config: Pick<ZunConfig, "reachablePods">;
}

/** Returns the probes of a pod that cannot be run for its kind of Zun object from this program. */
export function refusedProbes({ spec }: DeepReadonly<Pod>, means: ProbeMeans): readonly RefusedField[] {
  return (spec?.containers ?? []).flatMap((container, index) =>
    fields.flatMap((field) => {
      const probe = container[field];
      return probe ? refusedProbe(probe, { field, path: `spec.containers[${index}].${field}`, container, ...means }) : [];
    }),
  );
}

function refusedProbe(
  { exec, httpGet, tcpSocket, grpc, timeoutSeconds = 1, terminationGracePeriodSeconds = 0 }: ProbeSpec,
  {
    field,
    path,
    kind,
    config,
  }: ProbeMeans & { readonly field: (typeof fields)[number]; readonly path: string; readonly container: DeepReadonly<Container> },
): RefusedField[] {
  const found: RefusedField[] = [];
  const add = (isRefused: boolean, fieldPath: string, message: string): void => {
    if (isRefused) found.push({ fieldPath, message });
  };
  const isCapsule = kind === "capsule";
  const capsule = "a pod with several containers is a Zun capsule, and";
  if (isCapsule && field !== "readinessProbe") return [{ fieldPath: path, message: `${capsule} Zun restarts none of its containers` }];
  add(exec !== undefined && isCapsule, `${path}.exec`, `${capsule} Zun runs no commands in it`);
  add(
    exec !== undefined && timeoutSeconds > maxExecSeconds,
    `${path}.timeoutSeconds`,
    `Zun ends a command after ${maxExecSeconds} s (execute_timeout of its docker section)`,
  );
  add(
    exec !== undefined && isTooLong(toCommandLine(exec.command ?? [])),
    `${path}.exec.command`,
    "Zun takes a command as part of a URL; put a long one into a file of the image",
  );
  for (const [action, asked] of Object.entries({ httpGet, tcpSocket, grpc }))
    add(
      asked !== undefined && !("host" in asked && asked.host) && !config.reachablePods,
      `${path}.${action}`,
      "this program is not said to reach the pods' addresses in their networks; set reachablePods: true where it does, or use exec",
    );
  add(
    terminationGracePeriodSeconds > longestStopSeconds,
    `${path}.terminationGracePeriodSeconds`,
    `a container that is restarted has ${longestStopSeconds} s at most`,
  );
  return found;
}
