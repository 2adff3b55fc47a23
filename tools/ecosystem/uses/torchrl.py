"""torchrl: environments, policies, collectors, replay buffers and losses."""

import torch
from tensordict import TensorDict
from tensordict.nn import ProbabilisticTensorDictModule, ProbabilisticTensorDictSequential, TensorDictModule
from torchrl.collectors import Collector
from torchrl.data import (
    Bounded,
    Categorical,
    Composite,
    LazyTensorStorage,
    ReplayBuffer,
    TensorDictReplayBuffer,
    Unbounded,
)
from torchrl.data.replay_buffers.samplers import SamplerWithoutReplacement
from torchrl.envs import EnvBase, StepCounter, TransformedEnv
from torchrl.envs.transforms import Compose, ObservationNorm, RewardSum
from torchrl.envs.utils import check_env_specs
from torchrl.modules import MLP, Actor, EGreedyModule, NormalParamExtractor, QValueActor, TanhNormal, ValueOperator
from torchrl.objectives import ClipPPOLoss, DQNLoss, SoftUpdate
from torchrl.objectives.value import GAE, TDLambdaEstimator


class _Point(EnvBase):
    """A point on a line that is to come to 0."""

    def __init__(self, discrete=False):
        super().__init__(device="cpu", batch_size=[])
        self.discrete = discrete
        self.observation_spec = Composite(observation=Unbounded((2,)))
        self.action_spec = Categorical(3) if discrete else Bounded(-1, 1, (1,))
        self.reward_spec = Unbounded((1,))

    def _reset(self, tensordict=None):
        self.state = torch.tensor([1.0, 0.0])
        return TensorDict({"observation": self.state.clone()}, [])

    def _step(self, tensordict):
        action = tensordict["action"].float()
        push = action - 1 if self.discrete else action.squeeze(-1)
        self.state = torch.stack([self.state[0] + 0.1 * self.state[1], self.state[1] + 0.1 * push])
        done = (self.state[0].abs() > 2).reshape(1)
        reward = -self.state[0].abs().reshape(1)
        return TensorDict({"observation": self.state.clone(), "reward": reward, "done": done, "terminated": done}, [])

    def _set_seed(self, seed):
        torch.manual_seed(seed)


def _policy():
    net = torch.nn.Sequential(MLP(2, 2, depth=1, num_cells=16, activation_class=torch.nn.Tanh), NormalParamExtractor())
    return ProbabilisticTensorDictSequential(
        TensorDictModule(net, ["observation"], ["loc", "scale"]),
        ProbabilisticTensorDictModule(
            ["loc", "scale"], ["action"], distribution_class=TanhNormal, distribution_kwargs={"low": -1, "high": 1},
            return_log_prob=True,
        ),
    )  # fmt: skip


def rollouts():
    env = TransformedEnv(_Point(), Compose(ObservationNorm(0.5, 2.0, ["observation"]), RewardSum(), StepCounter(8)))
    check_env_specs(env)
    made = env.rollout(6, _policy())
    return made["observation"], made["action"], made["next", "episode_reward"], made["next", "step_count"]


def collectors():
    env = TransformedEnv(_Point(), StepCounter(7))
    collector = Collector(env, _policy(), frames_per_batch=10, total_frames=30, device="cpu")
    batches = [batch.select("observation", "action", ("next", "reward"), ("next", "done")).clone() for batch in collector]
    collector.shutdown()
    return [(b["observation"], b["action"], b["next", "reward"], b["next", "done"]) for b in batches]


def collectors_with_updates():
    policy = _policy()
    optimizer = torch.optim.SGD(policy.parameters(), lr=0.1)
    collector = Collector(TransformedEnv(_Point(), StepCounter(5)), policy, frames_per_batch=8, total_frames=24)
    rewards = []
    for batch in collector:
        rewards.append(batch["next", "reward"].mean())
        loss = -(policy.get_dist(batch).log_prob(batch["action"].detach()) * batch["next", "reward"].squeeze(-1)).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        collector.update_policy_weights_()
    collector.shutdown()
    return rewards, dict(policy.named_parameters())


def buffers():
    rows = TensorDict({"x": torch.arange(20.0), "y": torch.randn(20, 2)}, [20])
    plain = ReplayBuffer(storage=LazyTensorStorage(20), batch_size=5)
    plain.extend(rows)
    ordered = TensorDictReplayBuffer(storage=LazyTensorStorage(20), sampler=SamplerWithoutReplacement(), batch_size=5)
    ordered.extend(rows)
    return plain.sample()["x"], [batch["x"] for batch in ordered], len(plain)


def ppo():
    policy, env = _policy(), TransformedEnv(_Point(), StepCounter(20))
    value = ValueOperator(MLP(2, 1, depth=1, num_cells=16, activation_class=torch.nn.Tanh), in_keys=["observation"])
    advantage = GAE(gamma=0.99, lmbda=0.95, value_network=value, average_gae=True)
    loss_module = ClipPPOLoss(policy, value, clip_epsilon=0.2, entropy_coeff=0.01)
    optimizer = torch.optim.Adam(loss_module.parameters(), 1e-2)
    losses = []
    data = env.rollout(16, policy).detach()
    for _ in range(3):
        advantage(data)
        found = loss_module(data)
        loss = found["loss_objective"] + found["loss_critic"] + found["loss_entropy"]
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(loss_module.parameters(), 1.0)
        optimizer.step()
        losses.append(loss.item())
    return losses, data["advantage"]


def dqn():
    env = TransformedEnv(_Point(discrete=True), StepCounter(10))
    actor = QValueActor(MLP(2, 3, depth=1, num_cells=16), in_keys=["observation"], spec=env.action_spec)
    explore = EGreedyModule(spec=env.action_spec, eps_init=0.5, annealing_num_steps=10)
    loss_module = DQNLoss(actor, action_space=env.action_spec, delay_value=True)
    loss_module.make_value_estimator(gamma=0.9)
    target = SoftUpdate(loss_module, eps=0.9)
    optimizer = torch.optim.Adam(loss_module.parameters(), 1e-2)
    losses = []
    for _ in range(3):
        from tensordict.nn import TensorDictSequential

        data = env.rollout(8, TensorDictSequential(actor, explore))
        loss = loss_module(data)["loss"]
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        target.step()
        explore.step(8)
        losses.append(loss.item())
    return losses


def returns():
    value = TensorDictModule(MLP(2, 1, depth=0), ["observation"], ["state_value"])
    data = TransformedEnv(_Point(), StepCounter(6)).rollout(12, _policy(), break_when_any_done=False)
    found = TDLambdaEstimator(gamma=0.9, lmbda=0.8, value_network=value)(data)
    return found["advantage"], found["value_target"]


def actors():
    spec = Bounded(-1, 1, (1,))
    actor = Actor(MLP(2, 1, depth=2, num_cells=8), in_keys=["observation"], spec=spec)
    return actor(TensorDict({"observation": torch.randn(5, 2)}, [5]))["action"]
