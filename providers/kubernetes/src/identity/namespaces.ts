import type { NamespacesConfig } from "../config/namespaces.ts";
import { InvalidInputError } from "@virtual-kubelet/errdefs";

/** Which far namespace a home namespace's pods run in. */
export interface NamespaceMap {
  /** @throws InvalidInputError if the far namespace's name would be too long */
  toFar(homeNamespace: string): string;
  /** The only far namespace; `undefined` if there may be several. */
  readonly only: string | undefined;
  /** Whether missing far namespaces are created. */
  readonly creates: boolean;
}

/**
 * @param contextNamespace - namespace of the kubeconfig's context
 */
export function namespaceMap(config: NamespacesConfig, contextNamespace: string | undefined): NamespaceMap {
  if (config.mode === "one") {
    const only = config.name ?? contextNamespace ?? "default";
    return { toFar: () => only, only, creates: false };
  }
  const prefix = config.mode === "prefix" ? config.prefix : "";
  return {
    toFar(homeNamespace) {
      const name = `${prefix}${homeNamespace}`;
      if (name.length > 63)
        throw new InvalidInputError(
          `namespace ${homeNamespace}: the far namespace ${name} has ${name.length} characters, expected at most 63; choose a shorter namespaces.prefix`,
        );
      return name;
    },
    only: undefined,
    creates: config.create,
  };
}
