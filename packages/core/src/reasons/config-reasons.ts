import type { ReasonInfo } from "./reason-info.ts";

type Kind = "ConfigMap" | "Secret";

/** Reasons about the ConfigMaps, Secrets and volumes of a pod. */
export type ConfigReason =
  | "MandatoryConfigMapNotFound"
  | "MandatorySecretNotFound"
  | "OptionalConfigMapNotFound"
  | "OptionalSecretNotFound"
  | "MandatoryConfigMapKeyNotFound"
  | "MandatorySecretKeyNotFound"
  | "OptionalConfigMapKeyNotFound"
  | "OptionalSecretKeyNotFound"
  | "FailedToReadMandatoryConfigMap"
  | "FailedToReadMandatorySecret"
  | "FailedToReadOptionalConfigMap"
  | "FailedToReadOptionalSecret"
  | "InvalidEnvironmentVariableNames"
  | "FailedMount"
  | "FailedToRetrieveImagePullSecret"
  | "ProvisioningSucceeded"
  | "ProvisioningFailed"
  | "VolumeFailedDelete";

/** Reasons about the ConfigMaps, Secrets and volumes of a pod. */
export const configReasons: Readonly<Record<ConfigReason, ReasonInfo>> = {
  MandatoryConfigMapNotFound: missing("ConfigMap"),
  MandatorySecretNotFound: missing("Secret"),
  OptionalConfigMapNotFound: optional("ConfigMap"),
  OptionalSecretNotFound: optional("Secret"),
  MandatoryConfigMapKeyNotFound: missingKey("ConfigMap"),
  MandatorySecretKeyNotFound: missingKey("Secret"),
  OptionalConfigMapKeyNotFound: optionalKey("ConfigMap"),
  OptionalSecretKeyNotFound: optionalKey("Secret"),
  FailedToReadMandatoryConfigMap: unreadable("ConfigMap"),
  FailedToReadMandatorySecret: unreadable("Secret"),
  FailedToReadOptionalConfigMap: unreadable("ConfigMap"),
  FailedToReadOptionalSecret: unreadable("Secret"),
  InvalidEnvironmentVariableNames: {
    on: ["podEvent"],
    meaning: "A ConfigMap or Secret of envFrom has keys that cannot be names of environment variables. They were left out.",
    remedy: "Rename the keys, or refer to them one by one with env and valueFrom.",
  },
  FailedMount: {
    on: ["podEvent"],
    meaning: "A volume of the pod could not be set up. It is tried again, and the containers wait.",
    remedy: "Create or correct what the message names: a ConfigMap, a Secret, a claim, or a path of the node.",
  },
  FailedToRetrieveImagePullSecret: {
    on: ["podEvent"],
    meaning: "A Secret of imagePullSecrets could not be read. The image is pulled without it.",
    remedy: "Create the Secret in the pod's namespace: `kubectl create secret docker-registry NAME …`.",
  },
  ProvisioningSucceeded: {
    on: ["claimEvent"],
    meaning: "The provider has created a volume for the claim.",
    remedy: "Nothing.",
  },
  ProvisioningFailed: {
    on: ["claimEvent"],
    meaning: "The provider could not create a volume for the claim.",
    remedy: "The message has the reason. Correct the claim or its StorageClass: `kubectl describe storageclass NAME`.",
  },
  VolumeFailedDelete: {
    on: ["volumeEvent"],
    meaning: "A released volume could not be removed at the back end. It is tried again.",
    remedy: "The message has the back end's answer.",
  },
};

function missing(kind: Kind): ReasonInfo {
  const noun = kind.toLowerCase();
  return {
    on: ["podEvent"],
    meaning: `A container needs a ${kind} that does not exist. The pod waits for it with CreateContainerConfigError.`,
    remedy: `Create it: \`kubectl create ${kind === "Secret" ? "secret generic" : noun} NAME …\`. The pod continues by itself.`,
  };
}

function optional(kind: Kind): ReasonInfo {
  return {
    on: ["podEvent"],
    meaning: `An optional ${kind} does not exist. The container starts without it.`,
    remedy: "Nothing, if the container works without it.",
  };
}

function missingKey(kind: Kind): ReasonInfo {
  return {
    on: ["podEvent"],
    meaning: `A container needs a key that a ${kind} does not have. The pod waits with CreateContainerConfigError.`,
    remedy: `Add the key: \`kubectl edit ${kind.toLowerCase()} NAME\`. The pod continues by itself.`,
  };
}

function optionalKey(kind: Kind): ReasonInfo {
  return {
    on: ["podEvent"],
    meaning: `A ${kind} does not have an optional key. The container starts without the variable.`,
    remedy: "Nothing, if the container works without it.",
  };
}

function unreadable(kind: Kind): ReasonInfo {
  return {
    on: ["podEvent"],
    meaning: `A ${kind} could not be read, so that it is unknown whether it exists. The pod waits, and it is tried again.`,
    remedy: `The message has the API server's answer. If it is 403, give the program the right: \`kubectl auth can-i get ${kind.toLowerCase()}s -n NAMESPACE --as=IDENTITY\` checks it.`,
  };
}
