import type { Container, DeepReadonly, Owner, Pod } from "@virtual-kubelet/core";
import { containerFields, volumeFields, type ContainerField } from "@virtual-kubelet/remote-pods";
import type { NomadJob, NomadRestartPolicy, NomadTask, NomadTemplate, NomadVariable } from "../api/types.ts";
import { nomadNamespaceOf } from "../config.ts";
import { driverConfig } from "./driver-config.ts";
import { groupNetworks, portLabels } from "./group-network.ts";
import { jobIdOf, variablePaths } from "./job-id.ts";
import { metaOf } from "./job-meta.ts";
import type { PodContent } from "./pod-content.ts";
import { gatedContainers, groupName, shapeOf, type ContainerRole, type PodShape } from "./pod-shape.ts";
import { taskLogin } from "./pull-credentials.ts";
import { refuse } from "./refused-fields.ts";
import { diskMB, taskResources } from "./resources.ts";
import type { JobSettings } from "./settings.ts";
import { taskEnvironment } from "./task-environment.ts";
import type { FileVolume } from "./task-files.ts";
import { userOf } from "./task-user.ts";
import { groupVolumes, taskVolumes } from "./task-volumes.ts";
import { InlineStore, VariableStore, type ItemStore } from "./variable-items.ts";

/** Everything that is sent to Nomad for a pod. It may hold secrets. */
export interface JobPlan {
  readonly job: NomadJob;
  /** Written before the job is registered. */
  readonly variables: readonly NomadVariable[];
  readonly shape: PodShape;
  /** Whether the job itself contains values of secrets and config maps. */
  readonly isReadable: boolean;
}

const nanosPerMs = 1e6;
/** Minimum kill time-out, because zero means Nomad's default. */
const shortestKillMs = 1;

/**
 * The job that runs a pod.
 *
 * @throws UnsupportedError naming the first field that Nomad, or this configuration, cannot do
 */
export function jobOf(pod: DeepReadonly<Pod>, content: PodContent, owner: Owner, settings: JobSettings): JobPlan {
  refuse(pod, settings);
  const { config, driver, network } = settings;
  const jobId = jobIdOf(owner, pod.metadata?.uid ?? "");
  const store: ItemStore = config.secrets === "inline" ? new InlineStore() : new VariableStore();
  const fileVolumes = fileVolumesOf(pod, content, jobId);
  const spec = pod.spec ?? { containers: [] };
  const containers = containerFields(pod);
  const gated = new Set(gatedContainers(shapeOf(pod, { owner, driver, network, variables: [], fileVolumes: [] })).map(({ name }) => name));

  const toTask = ({ container, path }: ContainerField): NomadTask => {
    const environment = taskEnvironment(container, content.environments.get(container.name) ?? [], {
      store,
      path: variablePaths.confidential(jobId),
      fieldPath: path,
    });
    const volumes = taskVolumes(container, { pod, settings, fileVolumes, store });
    const ports = portLabels(pod, container, settings);
    const credentials = content.logins.get(container.name);
    const login = credentials && taskLogin(container, credentials, { store, path: variablePaths.confidential(jobId) });
    const templates = [
      ...(gated.has(container.name) ? [gateTemplate(jobId, container.name)] : []),
      ...environment.templates,
      ...volumes.templates,
      ...(login ? [login.template] : []),
    ];
    const role = roleOf(spec, container);
    return {
      Name: container.name,
      Driver: driver,
      ...userOf(pod, container),
      Config: driverConfig({ pod, container, settings, environment, volumes, login, ports }),
      Env: environment.env,
      ...(role !== "main" && { Lifecycle: { Hook: "prestart", Sidecar: role === "sidecar" } }),
      // A sidecar is always restarted, regardless of the pod's policy.
      ...(role === "sidecar" && { RestartPolicy: restartPolicy("Always", settings) }),
      Resources: taskResources(container, settings),
      KillTimeout: killTimeout(spec.terminationGracePeriodSeconds ?? 30),
      KillSignal: "SIGTERM",
      LogConfig: { MaxFiles: config.logs.maxFiles, MaxFileSizeMB: config.logs.maxFileSizeMB },
      ...(templates.length > 0 && { Templates: templates }),
      ...(volumes.volumeMounts.length > 0 && { VolumeMounts: volumes.volumeMounts }),
    };
  };

  const tasks = containers.map(toTask);
  const variables = store.variables();
  const shape = shapeOf(pod, {
    owner,
    driver,
    network,
    variables: variables.map(({ Path }) => Path),
    fileVolumes: variables.length === 0 ? [] : [...fileVolumes.values()].map(({ name, confidential }) => ({ name, confidential })),
  });
  const volumes = groupVolumes(pod, settings);
  const job: NomadJob = {
    ID: jobId,
    Name: `${shape.ref.namespace}/${shape.ref.name}`,
    Namespace: nomadNamespaceOf(config, shape.ref),
    ...(config.region !== undefined && { Region: config.region }),
    Type: shape.restartPolicy === "Always" ? "service" : "batch",
    Datacenters: settings.datacenters,
    ...(settings.nodePool !== undefined && { NodePool: settings.nodePool }),
    ...(settings.constraints.length > 0 && { Constraints: settings.constraints }),
    Meta: metaOf(shape),
    TaskGroups: [
      {
        Name: groupName,
        Count: 1,
        RestartPolicy: restartPolicy(shape.restartPolicy, settings),
        ReschedulePolicy: { Attempts: 0, Unlimited: false },
        ...(config.disconnectGrace !== undefined && {
          Disconnect: { LostAfter: config.disconnectGrace * nanosPerMs, Replace: false, Reconcile: "keep_original" },
        }),
        EphemeralDisk: {
          SizeMB: diskMB(
            containers.map(({ container }) => container),
            settings,
          ),
          Sticky: false,
          Migrate: false,
        },
        ...groupNetworks(pod, settings),
        ...(Object.keys(volumes).length > 0 && { Volumes: volumes }),
        Tasks: tasks,
      },
    ],
  };
  return { job, variables, shape, isReadable: store.isReadable };
}

/** A kill time-out as Nomad writes it. */
function killTimeout(graceSeconds: number): number {
  return Math.max(shortestKillMs, graceSeconds * 1000) * nanosPerMs;
}

/** Template that holds a task back until its gate is opened: it reads a variable that does not exist yet. */
function gateTemplate(jobId: string, task: string): NomadTemplate {
  return {
    EmbeddedTmpl: `{{ with nomadVar "${variablePaths.gate(jobId, task)}" }}{{ .go }}{{ end }}`,
    DestPath: "local/vk-gate",
    ChangeMode: "noop",
  };
}

function fileVolumesOf(pod: DeepReadonly<Pod>, content: PodContent, jobId: string): ReadonlyMap<string, FileVolume> {
  return new Map(
    volumeFields(pod).flatMap(({ name, isSensitive }) => {
      const files = content.files.get(name);
      const path = isSensitive ? variablePaths.confidential(jobId) : variablePaths.files(jobId);
      return files ? [[name, { name, files, path, confidential: isSensitive, fsGroup: pod.spec?.securityContext?.fsGroup }]] : [];
    }),
  );
}

function restartPolicy(policy: "Always" | "OnFailure" | "Never", { config }: JobSettings): NomadRestartPolicy {
  if (policy === "Never") return { Attempts: 0, Interval: 60_000 * nanosPerMs, Delay: 1000 * nanosPerMs, Mode: "fail" };
  const { attempts, interval, delay } = config.restart;
  return { Attempts: attempts, Interval: interval * nanosPerMs, Delay: delay * nanosPerMs, Mode: "delay" };
}

function roleOf(spec: DeepReadonly<NonNullable<Pod["spec"]>>, container: DeepReadonly<Container>): ContainerRole {
  if (!spec.initContainers?.includes(container)) return "main";
  return container.restartPolicy === "Always" ? "sidecar" : "init";
}
