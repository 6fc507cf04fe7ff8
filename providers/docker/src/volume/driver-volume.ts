import type { ClaimedVolume } from "@virtual-kubelet/core";
import { InvalidInputError } from "@virtual-kubelet/errdefs";
import type { DriverVolume } from "@virtual-kubelet/pod-runtime";

/**
 * Driver of a PersistentVolume of type flexVolume that stands for a volume of the engine. A real kubelet does not have this driver, and
 * refuses the pod.
 */
export const dockerVolumeDriver = "virtual-kubelet.io/docker-volume";

/**
 * The engine's volume of a PersistentVolume, with the same name. The flexVolume's options are its driver and the driver's options.
 *
 * @param allowed - drivers that the configuration names
 * @returns `undefined` for a PersistentVolume of another kind
 * @throws InvalidInputError if it has no driver, or one that the configuration does not name
 */
export function driverVolumeOf({ name, source }: ClaimedVolume, allowed: readonly string[]): DriverVolume | undefined {
  if (source.kind !== "flexVolume" || source.driver !== dockerVolumeDriver) return undefined;
  return { name, ...checkedDriver(source.options, allowed) };
}

/** @throws InvalidInputError as {@link driverVolumeOf} */
export function checkedDriver(
  { driver, ...options }: Readonly<Record<string, string>>,
  allowed: readonly string[],
): Pick<DriverVolume, "driver" | "options"> {
  if (driver === undefined || !allowed.includes(driver)) {
    const got = driver === undefined ? "there is none" : `got ${JSON.stringify(driver)}`;
    const expected = allowed.length > 0 ? allowed.join(" or ") : "none";
    throw new InvalidInputError(
      `option driver of a volume of the engine: ${got}, expected ${expected}: volumeDrivers in the provider's configuration sets this`,
    );
  }
  return { driver, options };
}
