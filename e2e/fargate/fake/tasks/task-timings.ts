/** Milliseconds that the steps of a task take. The host adds pulls and starts. */
export interface TaskTimings {
  /** Until the network interface is attached. */
  readonly provisioningMs: number;
  /** After the attachment, until the interface's address is shown. */
  readonly addressMs: number;
  /** After the attachment, until the first container is begun. */
  readonly pendingMs: number;
  /** Between the start of the last container and RUNNING. */
  readonly activatingMs: number;
  /** Between the decision to stop a running task and the signal to its containers. */
  readonly deactivatingMs: number;
  /** Until the network interface is deleted. */
  readonly deprovisioningMs: number;
  /** Between a container's start and that of the agent that runs commands in it. */
  readonly agentMs: number;
  /** Between a container's end and its restart by its restart policy. */
  readonly restartMs: number;
  /** Length of a second of `stopTimeout`. */
  readonly stopSecondMs: number;
  /** Between looks at a container that is being started. */
  readonly lookMs: number;
}

/** Timings in the order of those that users report: 20 to 60 seconds from RunTask to RUNNING, with the pull. */
export const usualTimings: TaskTimings = {
  provisioningMs: 8000,
  addressMs: 0,
  pendingMs: 2000,
  activatingMs: 500,
  deactivatingMs: 500,
  deprovisioningMs: 5000,
  agentMs: 1000,
  restartMs: 1000,
  stopSecondMs: 1000,
  lookMs: 100,
};

/** Timings for tests whose containers are real processes. */
export const shortTimings: TaskTimings = {
  provisioningMs: 50,
  addressMs: 0,
  pendingMs: 20,
  activatingMs: 20,
  deactivatingMs: 20,
  deprovisioningMs: 50,
  agentMs: 20,
  restartMs: 100,
  stopSecondMs: 1000,
  lookMs: 10,
};
