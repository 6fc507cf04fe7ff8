/**
 * Whether a server's Kubernetes is 1.`minor` or newer.
 *
 * @param version - as the server says it, such as `v1.36.3`
 */
function isSince(minor: number, version: string): boolean {
  const [, found] = /^v1\.(\d+)\./.exec(version) ?? [];
  if (found === undefined) throw new Error(`a server says that its version is ${version}: expected v1.MINOR.PATCH`);
  return Number(found) >= minor;
}

/** From 1.36 on the feature gate NodeDeclaredFeatures is on: older servers drop the field, and speak SPDY with every node. */
export const keepsDeclaredFeatures = (version: string): boolean => isSince(36, version);
