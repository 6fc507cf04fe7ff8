/** A published command line of the Go program or of one of its providers, in the words of its source. */
export interface UpstreamCommandLine {
  readonly name: string;
  /** Repository and file. */
  readonly source: string;
  /** Arguments after the program's name, where a chart's template has values, with those of its `values.yaml`. */
  readonly words: readonly string[];
  /** Variables that the manifest or the page sets. */
  readonly env: Readonly<Record<string, string>>;
  /** Files that the manifest mounts. Paths that begin with `/` are those of its container. */
  readonly files?: Readonly<Record<string, string>> | undefined;
}

/** Marks the contents of PEM files, which the tests make. */
export const pem = { certificate: "a certificate", key: "its key", authority: "an authority" } as const;

const serving = { APISERVER_CERT_LOCATION: "/etc/virtual-kubelet/cert.pem", APISERVER_KEY_LOCATION: "/etc/virtual-kubelet/key.pem" };
const servingFiles = { "/etc/virtual-kubelet/cert.pem": pem.certificate, "/etc/virtual-kubelet/key.pem": pem.key };
const azureTaint = {
  VKUBELET_TAINT_KEY: "virtual-kubelet.io/provider",
  VKUBELET_TAINT_VALUE: "azure",
  VKUBELET_TAINT_EFFECT: "NoSchedule",
};
const inPod = { KUBELET_PORT: "10250", VKUBELET_POD_IP: "10.1.2.3" };

/** The file that the README shows, with a cluster's own subnets. */
const fargateToml = `
Region = "us-east-1"
ClusterName = "fargate"
Subnets = [ "subnet-12345678" ]
SecurityGroups = [ ]
AssignPublicIPv4Address = false
ExecutionRoleArn = ""
CloudWatchLogGroupName = ""
PlatformVersion = "LATEST"
OperatingSystem = "Linux"
CPU = "20"
Memory = "40Gi"
Storage = "40Gi"
Pods = "20"
`;

/** Source: the repositories as of 2026-07; deleted charts from their history. */
export const upstreamCommandLines: readonly UpstreamCommandLine[] = [
  {
    name: "the Go program's own pod",
    source: "virtual-kubelet/virtual-kubelet hack/skaffold/virtual-kubelet/pod.yml",
    words: [
      ...["--nodename", "vkubelet-mock-0", "--provider", "mock", "--provider-config", "/vkubelet-mock-0-cfg.json"],
      ...["--startup-timeout", "10s", "--klog.v", "2", "--klog.logtostderr", "--log-level", "debug"],
      ...["--trace-exporter", "jaeger", "--trace-sample-rate=always"],
    ],
    env: {
      ...inPod,
      JAEGER_AGENT_ENDPOINT: "localhost:6831",
      APISERVER_CERT_LOCATION: "/vkubelet-mock-0-crt.pem",
      APISERVER_KEY_LOCATION: "/vkubelet-mock-0-key.pem",
    },
    files: {
      "/vkubelet-mock-0-cfg.json": '{ "vkubelet-mock-0": { "cpu": "2", "memory": "32Gi", "pods": "128" } }',
      "/vkubelet-mock-0-crt.pem": pem.certificate,
      "/vkubelet-mock-0-key.pem": pem.key,
    },
  },
  {
    name: "the Go program's former chart",
    source: "virtual-kubelet/virtual-kubelet charts/virtual-kubelet (removed in 2021)",
    words: [
      ...["--disable-taint", "true", "--provider", "mock", "--namespace", "", "--nodename", "virtual-kubelet", "--log-level", "warning"],
      ...["--trace-exporter", "ocagent", "--trace-sample-rate", "1", "--trace-service-name", "virtual-kubelet", "--os", "Linux"],
    ],
    env: { ...inPod, ...serving, ...azureTaint, VKUBELET_TAINT_VALUE: "mock", OCAGENT_ENDPOINT: "localhost:55678" },
    files: servingFiles,
  },
  {
    name: "Azure Container Instances, chart",
    source: "virtual-kubelet/azure-aci charts/virtual-kubelet",
    words: [
      ...["--provider", "azure", "--namespace", "", "--nodename", "virtual-node-aci-linux-helm"],
      ...["--authentication-token-webhook=true", "--client-verify-ca", "/etc/kubernetes/certs/ca.crt"],
      ...["--no-verify-clients=false", "--os", "Linux"],
    ],
    env: { ...inPod, ...serving, ...azureTaint, MASTER_URI: "https://10.0.0.1", ENABLE_REAL_TIME_METRICS: "true" },
    files: { ...servingFiles, "/etc/kubernetes/certs/ca.crt": pem.authority },
  },
  {
    name: "Azure Container Instances, manifest",
    source: "virtual-kubelet/azure-aci deploy/deployment.yaml",
    words: [
      ...["--provider", "azure", "--nodename", "vk-aci-test-aks", "--authentication-token-webhook=true"],
      ...["--client-verify-ca", "/etc/kubernetes/certs/ca.crt", "--no-verify-clients=false", "--os", "Linux"],
    ],
    env: { ...inPod, ...serving, ACI_SUBNET_NAME: "vk", KUBE_DNS_IP: "10.0.0.10" },
    files: { ...servingFiles, "/etc/kubernetes/certs/ca.crt": pem.authority },
  },
  {
    name: "HashiCorp Nomad",
    source: "virtual-kubelet/nomad README.md",
    words: ["--provider=nomad"],
    env: { NOMAD_ADDR: "127.0.0.1:4646", NOMAD_REGION: "global", VK_TAINT_KEY: "hashicorp.com/nomad" },
  },
  {
    name: "OpenStack Zun",
    source: "virtual-kubelet/openstack-zun README.md",
    words: ["--provider", "openstack"],
    env: {
      OS_DOMAIN_ID: "default",
      OS_REGION_NAME: "RegionOne",
      OS_PROJECT_NAME: "demo",
      OS_IDENTITY_API_VERSION: "3",
      OS_AUTH_URL: "http://10.0.2.15/identity/v3",
      OS_USERNAME: "demo",
      OS_PASSWORD: "password",
    },
  },
  {
    name: "Alibaba Cloud ECI",
    source: "virtual-kubelet/alibabacloud-eci README.md",
    words: ["--provider", "alibabacloud"],
    env: { VKUBELET_TAINT_KEY: "alibabacloud.com/eci", ECI_REGION: "cn-hangzhou", ECI_SECURITY_GROUP: "sg-123", ECI_VSWITCH: "vsw-123" },
  },
  {
    name: "AWS Fargate",
    source: "virtual-kubelet/aws-fargate README.md",
    words: ["--provider", "aws", "--provider-config", "fargate.toml"],
    env: {},
    files: { "fargate.toml": fargateToml },
  },
  {
    name: "Huawei CCI",
    source: "virtual-kubelet/huawei-cci README.md",
    words: ["--provider", "huawei", "--provider-config", "cci.toml"],
    env: { APP_KEY: "key", APP_SECRET: "secret" },
    files: { "cci.toml": "" },
  },
  {
    name: "JIRIAF, the mock provider as a batch job",
    source: "JeffersonLab/jiriaf-0.1 vk-cmd/docker/images/base/activate/start.sh",
    words: ["--nodename", "vk-nersc", "--provider", "mock", "--provider-config", ".host-cfg.json", "--klog.v", "3"],
    env: {
      KUBELET_PORT: "10250",
      VKUBELET_POD_IP: "10.250.64.71",
      APISERVER_CERT_LOCATION: "/vk-cmd/client.crt",
      APISERVER_KEY_LOCATION: "/vk-cmd/client.key",
    },
    files: {
      ".host-cfg.json": '{"vk-nersc": {"cpu": "0", "memory": "0Gi", "pods": "0"}}',
      "/vk-cmd/client.crt": pem.certificate,
      "/vk-cmd/client.key": pem.key,
    },
  },
];

/** Value of `--provider` in a command line. */
export function providerOf({ words }: UpstreamCommandLine): string {
  const index = words.findIndex((word) => word.startsWith("--provider=") || word === "--provider");
  return words[index]?.split("=")[1] ?? words[index + 1] ?? "";
}
