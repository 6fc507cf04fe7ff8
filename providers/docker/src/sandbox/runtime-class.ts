import type { DeepReadonly, Pod } from "@virtual-kubelet/core";

/** The engine's OCI runtime for a pod; `undefined`: its default. As with dockershim, `docker` means the default. */
export function ociRuntime({ spec }: DeepReadonly<Pod>, runtimeClasses: Readonly<Record<string, string>>): string | undefined {
  const name = spec?.runtimeClassName;
  if (!name) return undefined;
  const runtime = Object.hasOwn(runtimeClasses, name) ? runtimeClasses[name] : name;
  return runtime === "docker" || runtime === "" ? undefined : runtime;
}
