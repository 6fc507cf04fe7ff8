/** Oldest supported API version: Docker Engine 20.10. Older engines take two seconds for each container's stats. */
export const oldestApiVersion = "1.41";

/** Newest API version that this provider knows. Newer engines are used with this version. */
export const newestApiVersion = "1.51";

/** The API version to use with an engine whose newest is `offered`; `undefined` if that is too old. */
export function agreedVersion(offered: string): string | undefined {
  if (!isAtLeast(offered, oldestApiVersion)) return undefined;
  return isAtLeast(offered, newestApiVersion) ? newestApiVersion : offered;
}

/** Whether a version is `wanted` or later. `1.9` is earlier than `1.41`. */
export function isAtLeast(version: string, wanted: string): boolean {
  const [major = 0, minor = 0] = version.split(".").map(Number);
  const [wantedMajor = 0, wantedMinor = 0] = wanted.split(".").map(Number);
  return major === wantedMajor ? minor >= wantedMinor : major > wantedMajor;
}
