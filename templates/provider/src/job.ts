/** Request for a job. */
export interface JobSpec {
  /** Idempotency key: a second request with the same ID returns the same job. */
  readonly id: string;
  readonly container: string;
  readonly image: string;
  readonly command: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  /** Stored unchanged, and returned with the job. */
  readonly tags: Readonly<Record<string, string>>;
}

/** A job as the back end describes it. */
export interface Job extends Omit<JobSpec, "command" | "env"> {
  /** RFC 3339. */
  readonly createdAt: string;
  /** `undefined` while the job runs. */
  readonly ended?: { readonly exitCode: number; readonly finishedAt: string } | undefined;
}
