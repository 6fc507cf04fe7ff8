/** A pod with a scheduler that does not exist, so that it is not changed. */
// oxlint-disable-next-line typescript/no-explicit-any -- tests add fields of every kind, wrong ones too
export function podNamed(name: string, spec: Readonly<Record<string, any>> = {}, metadata: Readonly<Record<string, unknown>> = {}): any {
  return {
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name, ...metadata },
    spec: { schedulerName: "nobody", containers: [{ name: "main", image: "main:1" }], automountServiceAccountToken: false, ...spec },
  };
}

export function configMapNamed(
  name: string,
  data: Readonly<Record<string, string>> = {},
  metadata: Readonly<Record<string, unknown>> = {},
  // oxlint-disable-next-line typescript/no-explicit-any -- the same
): any {
  return { apiVersion: "v1", kind: "ConfigMap", metadata: { name, ...metadata }, data };
}
