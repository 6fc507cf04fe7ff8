import time

from kubernetes import client


def test_a_deployment_gets_its_pods(api):
    labels = {"app": "web"}
    spec = {
        "replicas": 3,
        "selector": {"matchLabels": labels},
        "template": {"metadata": {"labels": labels}, "spec": {"containers": [{"name": "web", "image": "nginx"}]}},
    }
    client.AppsV1Api(api).create_namespaced_deployment("default", {"metadata": {"name": "web"}, "spec": spec})

    deadline = time.monotonic() + 30
    while len(pods := client.CoreV1Api(api).list_namespaced_pod("default", label_selector="app=web").items) < 3:
        assert time.monotonic() < deadline, f"{len(pods)} of 3 pods"
        time.sleep(0.1)
    assert {pod.metadata.owner_references[0].kind for pod in pods} == {"ReplicaSet"}
