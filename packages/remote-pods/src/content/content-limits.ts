/** Limits of a back end for what a pod brings with it. A limit that is absent does not exist. */
export interface ContentLimits {
  /** Name of the back end in messages. */
  readonly backEnd: string;
  /** Maximum bytes of one variable, its name and value together. */
  readonly maxVariableBytes?: number | undefined;
  /** Maximum bytes of all variables of one container, names and values. */
  readonly maxEnvironmentBytes?: number | undefined;
  /** Maximum bytes of all variables of all containers, names and values. */
  readonly maxPodEnvironmentBytes?: number | undefined;
  /** Maximum bytes of one container's command and arguments together. */
  readonly maxCommandBytes?: number | undefined;
  /** Maximum bytes of one file. */
  readonly maxFileBytes?: number | undefined;
  /** Maximum bytes of all files of all volumes. */
  readonly maxFilesBytes?: number | undefined;
  /** Maximum number of volumes of a pod, of all types. */
  readonly maxVolumes?: number | undefined;
  /**
   * Modes that files can have: a list of permission bits; others are refused. `notKept`: files get a mode of the back end's choice, and
   * `PodContent.lostModes` names the fields of others than 0644. Default: all modes are kept.
   */
  readonly fileModes?: readonly number[] | "notKept" | undefined;
}
