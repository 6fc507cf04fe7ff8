/** Result of a command. */
export type RemoteCommandResult = RemoteCommandExit | RemoteCommandFailure;

/** The command ran and ended. */
export interface RemoteCommandExit {
  /** 0 to 255; 128 + n if signal n ended it. Attaching always ends with 0. */
  readonly exitCode: number;
  /** The other side's status, passed on unchanged; `undefined` if it sent none. */
  readonly status?: RemoteCommandStatus | undefined;
}

/** The command did not run, or its end is unknown. */
export interface RemoteCommandFailure {
  /**
   * Explanation for people. Kubelets send `error executing command in container: WHY` and `error attaching to container: WHY`, prefixed
   * with `Internal error occurred: `.
   */
  readonly error: string;
  /** The other side's status, passed on unchanged; `undefined` if it sent none. */
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
