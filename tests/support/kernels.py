"""Kernels forked from one process that has imported torch: each would need seconds to import it anew."""
from __future__ import annotations

import multiprocessing
import os
import signal

from jupyter_client.provisioning import local_provisioner

IMPORTED = ["torch", "torch._dynamo", "ipykernel.kernelapp"]         # torch._dynamo: the first optimizer imports it


def install():
    """Every kernel that jupyter_client starts in this process is forked; where processes cannot be forked, none is."""
    if "forkserver" not in multiprocessing.get_all_start_methods():
        return
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(IMPORTED)
    local_provisioner.launch_kernel = lambda command, **options: Kernel(context, command, **options)


class Kernel:
    """A forked kernel with the methods of subprocess.Popen that jupyter_client uses.

    command: [python, "-m", "ipykernel_launcher", "-f", connection file].
    """

    stdin = stdout = stderr = None

    def __init__(self, context, command, cwd=None, env=None, **options):
        alone, ready = context.Pipe(duplex=False)
        self.process = context.Process(target=run, args=(command[command.index("-f"):], cwd, dict(env or os.environ), ready))
        self.process.start()
        self.pid = self.process.pid
        alone.recv()                     # before it leads a group of its own, a signal to its group would reach this process

    def poll(self):
        return self.process.exitcode

    def wait(self, timeout=None):
        self.process.join(timeout)
        return self.process.exitcode

    def send_signal(self, number):
        os.kill(self.pid, number)

    def terminate(self):
        self.send_signal(signal.SIGTERM)

    def kill(self):
        self.send_signal(signal.SIGKILL)


def run(arguments, folder, environment, ready):
    """What a forked process does: the kernel, with its output thrown away."""
    os.setsid()
    ready.send(True)
    os.environ.clear()
    os.environ.update(environment)
    os.chdir(folder or ".")
    nothing = os.open(os.devnull, os.O_RDWR)
    for stream in (1, 2):
        os.dup2(nothing, stream)
    from ipykernel.kernelapp import launch_new_instance

    launch_new_instance(argv=arguments)
