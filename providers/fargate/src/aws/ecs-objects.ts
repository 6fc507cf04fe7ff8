/** A container of a task. */
export interface EcsContainer {
  readonly name: string;
  readonly image?: string | undefined;
  readonly imageDigest?: string | undefined;
  readonly runtimeId?: string | undefined;
  /** `PENDING`, `RUNNING` or `STOPPED`. */
  readonly lastStatus?: string | undefined;
  readonly exitCode?: number | undefined;
  readonly reason?: string | undefined;
  /** `HEALTHY`, `UNHEALTHY` or `UNKNOWN`. */
  readonly healthStatus?: string | undefined;
  readonly managedAgents?:
    | readonly { readonly name?: string | undefined; readonly lastStatus?: string | undefined; readonly reason?: string | undefined }[]
    | undefined;
}

/** A resource that is attached to a task, such as its network interface. */
interface EcsAttachment {
  readonly type?: string | undefined;
  readonly status?: string | undefined;
  readonly details: readonly { readonly name?: string | undefined; readonly value?: string | undefined }[];
}

/** A task as DescribeTasks and RunTask return it. Times are RFC 3339. */
export interface EcsTask {
  readonly taskArn: string;
  readonly taskDefinitionArn?: string | undefined;
  readonly lastStatus: string;
  readonly desiredStatus?: string | undefined;
  readonly stopCode?: string | undefined;
  readonly stoppedReason?: string | undefined;
  readonly startedBy?: string | undefined;
  readonly group?: string | undefined;
  readonly enableExecuteCommand?: boolean | undefined;
  readonly createdAt?: string | undefined;
  readonly pullStartedAt?: string | undefined;
  readonly pullStoppedAt?: string | undefined;
  readonly startedAt?: string | undefined;
  readonly executionStoppedAt?: string | undefined;
  readonly stoppedAt?: string | undefined;
  readonly containers: readonly EcsContainer[];
  readonly attachments: readonly EcsAttachment[];
  readonly tags: Readonly<Record<string, string>>;
}

/** A failure that AWS reports beside the results of a call. */
export interface EcsFailure {
  readonly arn?: string | undefined;
  readonly reason?: string | undefined;
  readonly detail?: string | undefined;
}

/** Session of ExecuteCommand. The token is a secret. */
export interface ExecSession {
  readonly sessionId: string;
  readonly streamUrl: string;
  readonly tokenValue: string;
}
