/** The oldest API this provider can use: Docker Engine 20.10. Under it stats take two seconds each. */
export const oldestApiVersion = "1.41";

/** The newest API this provider knows; what comes later is asked in its words. */
export const newestApiVersion = "1.51";

/** The API version to use with an engine that offers up to `offered`; `undefined` if that is too old. */
export function agreedVersion(offered: string): string | undefined {
  if (!isAtLeast(offered, oldestApiVersion)) return undefined;
  return isAtLeast(offered, newestApiVersion) ? newestApiVersion : offered;
}

/** Whether an API version is that or later. `1.9` is before `1.41`. */
export function isAtLeast(version: string, wanted: string): boolean {
  const [major = 0, minor = 0] = version.split(".").map(Number);
  const [wantedMajor = 0, wantedMinor = 0] = wanted.split(".").map(Number);
  return major === wantedMajor ? minor >= wantedMinor : major > wantedMajor;
}
