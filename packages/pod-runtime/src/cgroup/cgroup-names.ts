import { InvalidInputError } from "@virtual-kubelet/errdefs";
import type { QosClass } from "@virtual-kubelet/kubernetes";

/** Who makes a runtime's cgroups. */
export type CgroupDriver = "cgroupfs" | "systemd";

/** One cgroup. */
export interface CgroupName {
  /** Below the root of each hierarchy, beginning with `/`. */
  readonly path: string;
  /** What a runtime takes for a parent: the path, or the slice with the systemd driver. */
  readonly parent: string;
}

/** Prefix of pods' cgroups where nothing else is said. A kubelet removes what it does not know below `kubepods`. */
export const defaultCgroupPrefix = "vkpods";

/**
 * How pods' cgroups are named, as a kubelet does below its `kubepods`: `/PREFIX/burstable/podUID`, and with systemd
 * `PREFIX-burstable-podUID.slice`; guaranteed pods are directly below the prefix.
 * Source: CgroupName in kubernetes v1.36.3 pkg/kubelet/cm/cgroup_manager_linux.go.
 */
export class CgroupNames {
  readonly #driver: CgroupDriver;
  readonly #prefix: readonly string[];

  /**
   * @param prefix - a path such as `/vkpods`, or a slice such as `vkpods.slice`
   * @throws InvalidInputError for a prefix that is neither
   */
  constructor(driver: CgroupDriver, prefix: string) {
    this.#driver = driver;
    this.#prefix = partsOf(driver, prefix);
  }

  /** The cgroup that all others are in. */
  get root(): CgroupName {
    return this.#name([]);
  }

  /** The cgroup that pods of a quality are in. */
  tier(quality: QosClass): CgroupName {
    return this.#name(quality === "Guaranteed" ? [] : [quality.toLowerCase()]);
  }

  /** A pod's cgroup. @throws InvalidInputError for a UID that is no name of a cgroup */
  pod(uid: string, quality: QosClass): CgroupName {
    if (!/^[A-Za-z0-9][A-Za-z0-9-]{0,200}$/.test(uid))
      throw new InvalidInputError(`name the cgroup of pod UID ${JSON.stringify(uid)}: expected letters, digits and "-"`);
    return this.#name([...(quality === "Guaranteed" ? [] : [quality.toLowerCase()]), `pod${uid}`]);
  }

  /** The UID in the name of a folder in a {@link tier}; `undefined` for what is no pod's. */
  tryUid(folder: string, quality: QosClass): string | undefined {
    const [, name = ""] = /^(?:.*-)?([^-]*)\.slice$/.exec(folder) ?? [];
    const part = this.#driver === "systemd" ? name.replaceAll("_", "-") : folder;
    const uid = /^pod([A-Za-z0-9][A-Za-z0-9-]*)$/.exec(part)?.[1];
    return uid !== undefined && this.pod(uid, quality).path.endsWith(`/${folder}`) ? uid : undefined;
  }

  #name(more: readonly string[]): CgroupName {
    if (this.#driver === "cgroupfs") {
      const path = `/${[...this.#prefix, ...more].join("/")}`;
      return { path, parent: path };
    }
    const parts = [...this.#prefix, ...more.map(escaped)];
    const slices = parts.map((_, index) => `${parts.slice(0, index + 1).join("-")}.slice`);
    return { path: `/${slices.join("/")}`, parent: slices.at(-1) ?? "-.slice" };
  }
}

function partsOf(driver: CgroupDriver, prefix: string): readonly string[] {
  const isSlice = driver === "systemd" && /^[^/]+\.slice$/.test(prefix);
  const parts = isSlice
    ? prefix.slice(0, -".slice".length).split("-")
    : prefix
        .split("/")
        .filter((part) => part !== "")
        .map(driver === "systemd" ? escaped : String);
  if (parts.length === 0 || !parts.every((part) => /^[A-Za-z0-9_:@][A-Za-z0-9_.:@-]*$/.test(part)))
    throw new InvalidInputError(
      `name cgroups below ${JSON.stringify(prefix)}: expected a path such as /vkpods, or a slice such as vkpods.slice`,
    );
  return parts;
}

/** In the name of a slice a `-` begins the next level. */
function escaped(part: string): string {
  return part.replaceAll("-", "_");
}
