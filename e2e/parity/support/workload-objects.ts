/** A pod template with a scheduler that does not exist. */
export function templateOf(labels: Readonly<Record<string, string>> | undefined, spec: object = {}): object {
  return {
    ...(labels === undefined ? {} : { metadata: { labels } }),
    spec: { schedulerName: "nobody", automountServiceAccountToken: false, containers: [{ name: "main", image: "main:1" }], ...spec },
  };
}

const selector = { matchLabels: { app: "web" } };

export function jobNamed(name: string, spec: object = {}, podSpec: object = {}): object {
  return { metadata: { name }, spec: { template: templateOf(undefined, { restartPolicy: "Never", ...podSpec }), ...spec } };
}

/** A CronJob that never becomes due. */
export function cronJobNamed(name: string, spec: object = {}, jobSpec: object = {}): object {
  const template = templateOf(undefined, { restartPolicy: "OnFailure" });
  return { metadata: { name }, spec: { schedule: "0 0 29 2 *", jobTemplate: { spec: { template, ...jobSpec } }, ...spec } };
}

/** A DaemonSet that matches no node. */
export function daemonSetNamed(name: string, spec: object = {}, podSpec: object = {}): object {
  return {
    metadata: { name },
    spec: { selector, template: templateOf({ app: "web" }, { nodeSelector: { "example.com/nowhere": "x" }, ...podSpec }), ...spec },
  };
}

export function statefulSetNamed(name: string, spec: object = {}, podSpec: object = {}): object {
  return { metadata: { name }, spec: { serviceName: "web", selector, template: templateOf({ app: "web" }, podSpec), ...spec } };
}

/** A claim that no volume satisfies. */
export function claimNamed(name: string, spec: object = {}): object {
  return {
    metadata: { name },
    spec: { accessModes: ["ReadWriteOnce"], storageClassName: "none", resources: { requests: { storage: "1Gi" } }, ...spec },
  };
}

/** A volume that no claim requests. */
export function volumeNamed(name: string, spec: object = {}): object {
  return {
    metadata: { name },
    spec: {
      accessModes: ["ReadWriteOnce"],
      capacity: { storage: "2Gi" },
      storageClassName: `class-of-${name}`,
      hostPath: { path: "/data" },
      ...spec,
    },
  };
}

export function budgetNamed(name: string, spec: object = {}): object {
  return { metadata: { name }, spec: { selector, ...spec } };
}
