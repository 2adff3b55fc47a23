"""stable-baselines3: agents of a small environment, trained, saved and loaded."""

import gymnasium
import numpy as np
from stable_baselines3 import A2C, DQN, PPO, SAC, TD3


class _Line(gymnasium.Env):
    """A walk to the middle. ``continuous`` chooses the kind of actions."""

    def __init__(self, continuous=False):
        self.observation_space = gymnasium.spaces.Box(-2.0, 2.0, (2,), np.float32)
        self.action_space = (
            gymnasium.spaces.Box(-1.0, 1.0, (1,), np.float32) if continuous else gymnasium.spaces.Discrete(3)
        )
        self.continuous = continuous

    def _seen(self):
        return np.array([self.x, self.n / 10], np.float32)

    def reset(self, seed=None, options=None):
        super().reset(seed=seed)
        self.x, self.n = float(self.np_random.uniform(-1, 1)), 0
        return self._seen(), {}

    def step(self, action):
        self.x = float(np.clip(self.x + 0.2 * (float(action[0]) if self.continuous else int(action) - 1), -2, 2))
        self.n += 1
        return self._seen(), -abs(self.x), False, self.n >= 10, {}


def _learn(agent, steps, continuous=False, **options):
    model = agent("MlpPolicy", _Line(continuous), seed=0, device="cpu", policy_kwargs={"net_arch": [16]}, **options)
    model.learn(steps)
    model.save("agent")
    again = agent.load("agent", device="cpu")
    seen = np.linspace(-1, 1, 8, dtype=np.float32).reshape(4, 2)
    return (
        model.predict(seen, deterministic=True)[0],
        again.predict(seen, deterministic=True)[0],
        model.policy.state_dict(),
    )


def ppo():
    return _learn(PPO, 64, n_steps=32, batch_size=16, n_epochs=2)


def a2c():
    return _learn(A2C, 40)


def dqn():
    return _learn(DQN, 60, learning_starts=20, batch_size=8, buffer_size=100)


def sac():
    return _learn(SAC, 40, True, learning_starts=20, batch_size=8, buffer_size=100)


def td3():
    return _learn(TD3, 40, True, learning_starts=20, batch_size=8, buffer_size=100)
