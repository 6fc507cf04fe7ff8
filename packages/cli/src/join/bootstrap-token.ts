/** A bootstrap token. The ID is public, and part of its user's name `system:bootstrap:ID`. */
export interface BootstrapToken {
  readonly id: string;
  readonly secret: string;
}

/** Parses `ID.SECRET`; `undefined` if malformed. Source: kubernetes v1.36.3 staging/src/k8s.io/cluster-bootstrap/token/api, BootstrapTokenPattern. */
export function parseBootstrapToken(text: string): BootstrapToken | undefined {
  const [, id, secret] = /^([a-z0-9]{6})\.([a-z0-9]{16})$/.exec(text) ?? [];
  return id === undefined || secret === undefined ? undefined : { id, secret };
}
