/** What the back end is asked to run. */
export interface JobSpec {
  /** Asked for twice, it is one job. */
  readonly id: string;
  readonly container: string;
  readonly image: string;
  readonly command: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  /** Kept as they are, and told with the job. */
  readonly tags: Readonly<Record<string, string>>;
}

/** A job as the back end tells of it. */
export interface Job extends Omit<JobSpec, "command" | "env"> {
  /** RFC 3339. */
  readonly createdAt: string;
  /** Absent: it runs. */
  readonly ended?: { readonly exitCode: number; readonly finishedAt: string } | undefined;
}
