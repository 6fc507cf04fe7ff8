import type { ExplainedObject } from "@virtual-kubelet/core";
import { isJsonObject } from "@virtual-kubelet/kubernetes";
import { createHash } from "node:crypto";
import { isDeepStrictEqual } from "node:util";
import { redact } from "../config/redact.ts";
import type { Settings } from "../config/settings.ts";
import { ConfigError } from "../program-error.ts";
import { accountNamespace, serviceAccountName } from "./access-rights.ts";

/** What a Deployment of the program consists of. */
export interface DeploymentPlan {
  /** Image of the program, such as `registry.example.com/virtual-kubelet:1.0`. */
  readonly image: string;
  /** Number of copies; all but one stand by. */
  readonly replicas: number;
  readonly settings: Settings;
  /** The configuration as it was written, before defaults. */
  readonly config: unknown;
  /** Content of the nodes' provider configuration files, by the index of the node. */
  readonly providerFiles: ReadonlyMap<number, ProviderFile>;
  /** Name of a setting for the user, by its path. */
  nameOf(path: readonly (string | number)[]): string;
}

/** A provider's configuration file. */
export interface ProviderFile {
  /** Suffix by which its format is known, such as `.toml`. */
  readonly suffix: string;
  readonly text: string;
}

/** Port of `/livez` and `/readyz` in the pod. */
const healthPort = 10_248;

const configFolder = "/etc/virtual-kubelet";
const configFile = "config.yaml";
/** `STATE_DIRECTORY` of the image. */
const stateFolder = "/var/lib/virtual-kubelet";

/** The user that the image names. */
const userId = 65_532;

/** Maximum length of a label's value. */
const maxLabelLength = 63;

/** Settings that name files of the machine on which the manifests are made. */
const localFiles = ["clientCAFile", "tlsCertFile", "tlsPrivateKeyFile", "certDirectory"] as const;

/**
 * Everything besides the access rights that runs the program in the cluster, under the service account of
 * {@link "./access-rights.ts"!serviceAccountRights}: ConfigMap, Secret, Deployment and PodDisruptionBudget.
 *
 * @throws ConfigError if a setting names a file that the pod would not have
 */
export async function deploymentObjects(plan: DeploymentPlan): Promise<ExplainedObject[]> {
  const { stringify } = await import("yaml");
  const account = serviceAccountName(plan.settings.nodes[0]?.name ?? "");
  const name = objectName(account);
  const { config, secrets } = configForPod(plan);
  const text = stringify(config, { lineWidth: 0, aliasDuplicateObjects: false });
  const metadata = { name, namespace: accountNamespace, labels: labelsOf(name) };
  const secretName = `${name}-provider`;
  const files = Object.keys(secrets).length > 0;
  // The program reads its configuration at its start only.
  const checksum = createHash("sha256")
    .update(JSON.stringify([text, secrets]))
    .digest("hex");
  return [
    {
      why: "the program's configuration",
      object: { apiVersion: "v1", kind: "ConfigMap", metadata, data: { [configFile]: text } },
    },
    ...(files
      ? [
          {
            why: "the providers' configuration; it can contain secrets",
            object: { apiVersion: "v1", kind: "Secret", metadata: { ...metadata, name: secretName }, stringData: secrets },
          },
        ]
      : []),
    {
      why:
        plan.settings.instance.group === undefined
          ? "the program; of several copies one runs the nodes, and the others stand by"
          : "the program; its copies share the nodes",
      object: {
        apiVersion: "apps/v1",
        kind: "Deployment",
        metadata,
        spec: {
          replicas: plan.replicas,
          selector: { matchLabels: labelsOf(name) },
          strategy: { type: "RollingUpdate", rollingUpdate: { maxSurge: 1, maxUnavailable: 0 } },
          template: {
            metadata: { labels: labelsOf(name), annotations: { "checksum/config": checksum } },
            spec: podSpec(plan, { account, name, secretName: files ? secretName : undefined }),
          },
        },
      },
    },
    ...(plan.replicas > 1
      ? [
          {
            why: "keeps a drain of machines from ending all copies at once",
            object: {
              apiVersion: "policy/v1",
              kind: "PodDisruptionBudget",
              metadata,
              spec: { maxUnavailable: 1, unhealthyPodEvictionPolicy: "AlwaysAllow", selector: { matchLabels: labelsOf(name) } },
            },
          },
        ]
      : []),
  ];
}

interface PodNames {
  readonly account: string;
  readonly name: string;
  readonly secretName: string | undefined;
}

function podSpec({ image, settings }: DeploymentPlan, { account, name, secretName }: PodNames): object {
  const ports = [...new Set(settings.nodes.map(({ kubeletPort }) => kubeletPort))].filter((port) => port !== 0);
  const field = (variable: string, fieldPath: string): object => ({ name: variable, valueFrom: { fieldRef: { fieldPath } } });
  return {
    serviceAccountName: account,
    automountServiceAccountToken: true,
    enableServiceLinks: false,
    terminationGracePeriodSeconds: 60,
    securityContext: {
      runAsNonRoot: true,
      runAsUser: userId,
      runAsGroup: userId,
      fsGroup: userId,
      seccompProfile: { type: "RuntimeDefault" },
    },
    containers: [
      {
        name: "virtual-kubelet",
        image,
        imagePullPolicy: "IfNotPresent",
        args: ["run", `--config=${configFolder}/${configFile}`],
        env: [field("VKUBELET_IDENTITY", "metadata.name"), field("POD_IP", "status.podIP")],
        ports: [
          ...ports.map((containerPort, index) => ({ name: index === 0 ? "kubelet" : `kubelet-${index}`, containerPort })),
          { name: "health", containerPort: healthPort },
        ],
        livenessProbe: { httpGet: { path: "/livez", port: "health" }, periodSeconds: 10, timeoutSeconds: 5, failureThreshold: 6 },
        readinessProbe: { httpGet: { path: "/readyz", port: "health" }, periodSeconds: 5, timeoutSeconds: 5 },
        resources: { requests: { cpu: "50m", memory: "128Mi" } },
        securityContext: { allowPrivilegeEscalation: false, readOnlyRootFilesystem: true, capabilities: { drop: ["ALL"] } },
        volumeMounts: [
          { name: "config", mountPath: configFolder, readOnly: true },
          { name: "state", mountPath: stateFolder },
        ],
      },
    ],
    volumes: [
      {
        name: "config",
        projected: { sources: [{ configMap: { name } }, ...(secretName === undefined ? [] : [{ secret: { name: secretName } }])] },
      },
      { name: "state", emptyDir: {} },
    ],
    affinity: {
      nodeAffinity: {
        requiredDuringSchedulingIgnoredDuringExecution: {
          nodeSelectorTerms: [{ matchExpressions: [{ key: "type", operator: "NotIn", values: ["virtual-kubelet"] }] }],
        },
      },
    },
    topologySpreadConstraints: [
      {
        maxSkew: 1,
        topologyKey: "kubernetes.io/hostname",
        whenUnsatisfiable: "ScheduleAnyway",
        labelSelector: { matchLabels: labelsOf(name) },
      },
    ],
  };
}

/** The configuration without what only this machine has, and the files of the Secret. */
function configForPod({ config, settings, providerFiles, nameOf }: DeploymentPlan): {
  readonly config: Readonly<Record<string, unknown>>;
  readonly secrets: Readonly<Record<string, string>>;
} {
  for (const field of localFiles) {
    const path = settings.kubelet[field];
    if (path === undefined) continue;
    throw new ConfigError(
      `${nameOf(["kubelet", field])}: ${JSON.stringify(path)}: expected no file of this machine, because the pod would not have it: ` +
        "leave it out, or use the Helm chart, which can mount it",
    );
  }
  const given = isJsonObject(config) ? config : {};
  const { kubeconfig: _, context: _context, ...cluster } = isJsonObject(given["cluster"]) ? given["cluster"] : {};
  const secrets: Record<string, string> = {};
  const nodes = (Array.isArray(given["nodes"]) ? given["nodes"] : []).map((value: unknown, index) => {
    const node = isJsonObject(value) ? value : {};
    const { providerConfig, providerConfigFile: _file, ...rest } = node;
    const file = providerFiles.get(index) ?? secretFile(providerConfig);
    if (file === undefined) return node;
    const key = `provider-${index}${file.suffix}`;
    secrets[key] = file.text;
    return { ...rest, providerConfigFile: key };
  });
  const { cluster: _cluster, ...others } = given;
  return {
    config: {
      ...others,
      ...(Object.keys(cluster).length > 0 && { cluster }),
      // Kubelets probe the pod's address.
      health: { address: `:${healthPort}` },
      instance: settings.instance.group === undefined ? { standby: true } : { group: settings.instance.group },
      nodes,
    },
    secrets,
  };
}

/** A provider's configuration as a file, if it contains secrets, which do not belong into a ConfigMap. */
function secretFile(providerConfig: unknown): ProviderFile | undefined {
  if (isDeepStrictEqual(redact(providerConfig), providerConfig)) return undefined;
  return { suffix: ".json", text: JSON.stringify(providerConfig, undefined, 2) };
}

/** Name of the objects, which is also a label's value. */
function objectName(account: string): string {
  if (account.length <= maxLabelLength) return account;
  return `virtual-kubelet-${createHash("sha256").update(account).digest("hex").slice(0, 16)}`;
}

function labelsOf(name: string): Readonly<Record<string, string>> {
  return { "app.kubernetes.io/name": "virtual-kubelet", "app.kubernetes.io/instance": name };
}
