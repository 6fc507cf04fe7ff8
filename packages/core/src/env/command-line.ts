import type { Container, DeepReadonly } from "@virtual-kubelet/kube-client";
import type { ResolvedEnvVar } from "../provider/resolved-pod.ts";
import { expand } from "./expansion.ts";

/** A container's command and arguments, as they are run; empty where the image's own are meant. */
export interface CommandLine {
  readonly command: readonly string[];
  readonly args: readonly string[];
}

/**
 * The container's command and arguments with `$(NAME)` expanded from its environment.
 * Source: ExpandContainerCommandAndArgs in kubernetes v1.36.3 pkg/kubelet/container/helpers.go.
 */
export function resolveCommandLine(
  { command = [], args = [] }: DeepReadonly<Container>,
  environment: readonly ResolvedEnvVar[],
): CommandLine {
  const values = new Map(environment.map(({ name, value }) => [name, value]));
  const expandAll = (words: readonly string[]): string[] => words.map((word) => expand(word, (name) => values.get(name)));
  return { command: expandAll(command), args: expandAll(args) };
}
