/**
 * Whether a server's Kubernetes is 1.`minor` or newer.
 *
 * @param version - the server's version, such as `v1.36.3`
 */
function isSince(minor: number, version: string): boolean {
  const [, found] = /^v1\.(\d+)\./.exec(version) ?? [];
  if (found === undefined) throw new Error(`the server's version is ${version}: expected v1.MINOR.PATCH`);
  return Number(found) >= minor;
}

/**
 * Whether the server has the feature gate NodeDeclaredFeatures on, which is the default since 1.36. Older servers drop the field and use
 * SPDY with every node.
 */
export const keepsDeclaredFeatures = (version: string): boolean => isSince(36, version);

/** Whether the server has the feature gate ResourceHealthStatus on, which is the default since 1.36. Older servers drop the field. */
export const keepsDeviceHealth = (version: string): boolean => isSince(36, version);
