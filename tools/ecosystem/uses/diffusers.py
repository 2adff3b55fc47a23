"""diffusers: UNets with schedulers, autoencoders and a pipeline, without weights of others."""

import diffusers as D
import torch


def _unet():
    torch.manual_seed(0)
    return D.UNet2DModel(
        sample_size=16,
        in_channels=3,
        out_channels=3,
        layers_per_block=1,
        block_out_channels=(16, 32),
        norm_num_groups=8,
        down_block_types=("DownBlock2D", "AttnDownBlock2D"),
        up_block_types=("AttnUpBlock2D", "UpBlock2D"),
        attention_head_dim=8,
    )


def train():
    model, scheduler = _unet(), D.DDPMScheduler(num_train_timesteps=100)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    losses = []
    for _ in range(2):
        clean, noise, t = torch.randn(2, 3, 16, 16), torch.randn(2, 3, 16, 16), torch.randint(0, 100, (2,))
        loss = torch.nn.functional.mse_loss(model(scheduler.add_noise(clean, noise, t), t).sample, noise)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


def pipeline():
    pipe = D.DDPMPipeline(_unet(), D.DDPMScheduler(num_train_timesteps=100))
    pipe.set_progress_bar_config(disable=True)
    images = pipe(
        batch_size=1, num_inference_steps=3, generator=torch.Generator().manual_seed(0), output_type="np"
    ).images
    pipe.save_pretrained("pipe")
    again = D.DDPMPipeline.from_pretrained("pipe")
    again.set_progress_bar_config(disable=True)
    return images, again(
        batch_size=1, num_inference_steps=3, generator=torch.Generator().manual_seed(0), output_type="np"
    ).images


def schedulers():
    results = []
    for name in (
        "DDIMScheduler",
        "PNDMScheduler",
        "EulerDiscreteScheduler",
        "EulerAncestralDiscreteScheduler",
        "DPMSolverMultistepScheduler",
        "HeunDiscreteScheduler",
        "LMSDiscreteScheduler",
        "UniPCMultistepScheduler",
        "FlowMatchEulerDiscreteScheduler",
    ):
        torch.manual_seed(0)
        scheduler = getattr(D, name)()
        scheduler.set_timesteps(4)
        x = torch.randn(1, 3, 8, 8)
        for t in scheduler.timesteps:
            scaled = scheduler.scale_model_input(x, t) if hasattr(scheduler, "scale_model_input") else x
            x = scheduler.step(scaled * 0.1, t, x).prev_sample
        results.append(x)
    return results


def conditional_unet():
    torch.manual_seed(0)
    model = D.UNet2DConditionModel(
        sample_size=8,
        in_channels=4,
        out_channels=4,
        layers_per_block=1,
        block_out_channels=(16, 32),
        norm_num_groups=8,
        cross_attention_dim=16,
        attention_head_dim=4,
        down_block_types=("CrossAttnDownBlock2D", "DownBlock2D"),
        up_block_types=("UpBlock2D", "CrossAttnUpBlock2D"),
    )
    out = model(torch.randn(1, 4, 8, 8), 10, torch.randn(1, 5, 16)).sample
    out.mean().backward()
    return out, model.conv_in.weight.grad


def autoencoder():
    torch.manual_seed(0)
    model = D.AutoencoderKL(
        block_out_channels=(16, 32),
        norm_num_groups=8,
        down_block_types=("DownEncoderBlock2D",) * 2,
        up_block_types=("UpDecoderBlock2D",) * 2,
    )
    posterior = model.encode(torch.randn(1, 3, 16, 16)).latent_dist
    return posterior.mean, posterior.kl(), model.decode(posterior.sample(torch.Generator().manual_seed(0))).sample


def transformer():
    torch.manual_seed(0)
    model = D.DiTTransformer2DModel(
        num_attention_heads=2,
        attention_head_dim=8,
        num_layers=1,
        sample_size=8,
        in_channels=4,
        out_channels=4,
        norm_type="ada_norm_zero",
        num_embeds_ada_norm=10,
    ).eval()
    return model(torch.randn(1, 4, 8, 8), torch.tensor([3]), torch.tensor([1])).sample


def ema():
    model = _unet()
    kept = D.training_utils.EMAModel(model.parameters(), decay=0.9)
    with torch.no_grad():
        model.conv_in.weight.add_(1.0)
    kept.step(model.parameters())
    return kept.shadow_params[0]
