/** How a command ended. */
export type RemoteCommandResult = RemoteCommandExit | RemoteCommandFailure;

/** The command ran and ended. */
export interface RemoteCommandExit {
  /** 0 to 255; 128 + n where signal n ended it. Attaching always ends with 0. */
  readonly exitCode: number;
  /** What the other side said, where it said it in this form; it is passed on as it is. */
  readonly status?: RemoteCommandStatus | undefined;
}

/** The command did not run, or it is not known how it ended. */
export interface RemoteCommandFailure {
  /**
   * Why, for people. Kubelets say `error executing command in container: WHY` and `error attaching to container: WHY`;
   * `Internal error occurred: ` is put before it.
   */
  readonly error: string;
  /** What the other side said, where it said it in this form; it is passed on as it is. */
  readonly status?: RemoteCommandStatus | undefined;
}

/** The part of a Kubernetes `Status` that versions 4 and 5 send when a command has ended. */
export interface RemoteCommandStatus {
  readonly metadata?: object | undefined;
  readonly status: "Success" | "Failure";
  readonly reason?: string | undefined;
  readonly message?: string | undefined;
  readonly code?: number | undefined;
  readonly details?:
    | { readonly causes?: readonly { readonly reason?: string | undefined; readonly message?: string | undefined }[] | undefined }
    | undefined;
}
