import type { Owner, ProvisionedSource, ReleasedVolume, VolumeProvisioner, VolumeWish } from "@virtual-kubelet/core";
import { ConflictError, InvalidInputError, isNotFound } from "@virtual-kubelet/errdefs";
import { ownerLabels } from "@virtual-kubelet/pod-runtime";
import type { DockerEngine } from "../engine/docker-engine.ts";
import { checkedDriver, dockerVolumeDriver } from "./driver-volume.ts";

/** Label with the UID of a volume's claim. */
const claimLabel = "virtual-kubelet.io/claim-uid";

export interface DockerVolumesOptions {
  readonly engine: DockerEngine;
  readonly owner: Owner;
  /** Drivers that StorageClasses may name. */
  readonly drivers: readonly string[];
}

/** Volumes for claims from the engine's volume drivers. A StorageClass has the driver and its options as parameters. */
export class DockerVolumes implements VolumeProvisioner {
  readonly #options: DockerVolumesOptions;

  constructor(options: DockerVolumesOptions) {
    this.#options = options;
  }

  /** As `VolumeProvisioner.provisionVolume`. The engine returns an existing volume unchanged. */
  async provisionVolume({ name, claim, parameters, accessModes }: VolumeWish, signal: AbortSignal): Promise<ProvisionedSource> {
    const wrong = accessModes.find((mode) => mode !== "ReadWriteOnce" && mode !== "ReadWriteOncePod");
    if (wrong !== undefined)
      throw new InvalidInputError(
        `spec.accessModes: ${wrong} is not supported, expected ReadWriteOnce or ReadWriteOncePod: it exists on one engine`,
      );
    const { driver: Driver, options: DriverOpts } = checkedDriver(parameters, this.#options.drivers);
    const body = { Name: name, Driver, DriverOpts, Labels: this.#labels(claim.uid) };
    const what = `make volume ${name} by driver ${Driver}`;
    const made = await this.#options.engine.json({ method: "POST", path: "/volumes/create", body, what }, signal);
    this.#check(name, made, claim.uid);
    return { kind: "flexVolume", driver: dockerVolumeDriver, options: { ...parameters } };
  }

  /** As `VolumeProvisioner.removeVolume`. The engine refuses to remove a volume that a container uses. */
  async removeVolume({ name, claim, source }: ReleasedVolume, signal: AbortSignal): Promise<void> {
    const { engine } = this.#options;
    if (source.kind !== "flexVolume" || source.driver !== dockerVolumeDriver)
      throw new ConflictError(`remove volume ${name}: it is not a volume of the engine; nothing was removed`);
    const path = `/volumes/${encodeURIComponent(name)}`;
    try {
      this.#check(name, await engine.json({ method: "GET", path, what: `look at volume ${name}` }, signal), claim.uid);
      await engine.json({ method: "DELETE", path, what: `remove volume ${name}` }, signal);
    } catch (error) {
      if (!isNotFound(error)) throw error;
    }
  }

  #labels(claimUid: string): Readonly<Record<string, string>> {
    return { ...ownerLabels(this.#options.owner), [claimLabel]: claimUid };
  }

  /** @throws ConflictError for a volume that this node did not create for the claim */
  #check(name: string, found: unknown, claimUid: string): void {
    const { Labels } = (found ?? {}) as { readonly Labels?: Readonly<Record<string, string>> | null };
    for (const [label, value] of Object.entries(this.#labels(claimUid)))
      if (Labels?.[label] !== value)
        throw new ConflictError(
          `volume ${name} of the engine does not belong to the claim: its label ${label} is ${Labels?.[label] ?? "missing"}`,
        );
  }
}
