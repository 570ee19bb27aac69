"""Families of transformers that are not opened, with the reasons.

Every entry of transformers' table of configurations is opened or listed here, as a test checks. A
tensor of such a model can still be chosen as its table.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from geometry.models.families.names import names_in

NONE_NEEDED = "it is convolutional and needs no positions"
RECURRENT = "it is recurrent and needs no positions"
HYBRID = "the order is known to its recurrent layers, and its attention has no positions"
BY_CONVOLUTION = "its positions come from convolutions"
IN_TWO = "it adds a relative bias in two dimensions"
TURNED_IN_TWO = "it turns queries and keys in two or three dimensions"
WITHIN = "it encodes relative distance inside attention"
SEVERAL = "its positions are a sum or a choice of several tables"
NOT_COMPARED = "its table has not been compared with transformers' own module"
SPACE_TIME = "its positions are those of patches in space and time"
COMPUTED_IN_TWO = "its positions are sines and cosines in two dimensions, computed from the picture"
SERIES = "it reads series of numbers or points, neither text nor pictures"
AUDIO = "it reads or makes sound"
PART = "it is a part of other models that has no positions of its own, or is not saved alone"
WHOLE = "its parts are models of their own, of which Helixscope does not know which to open"
PACKAGE = (
    "it has not been compared with transformers' own module, which needs another package, such as "
    "timm"
)
BROKEN = "transformers cannot make its configuration; models of this kind are encoder-decoders"

BY_REASON: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        NONE_NEEDED: names_in("""
            align_vision_model bit chameleon_vqgan convnext convnextv2 dinov3_convnext
            efficientnet emu3_vqgan flava_image_codebook focalnet glm_image_vqmodel hgnet_v2
            janus_vqgan mobilenet_v1 mobilenet_v2 mobilevit mobilevitv2 poolformer pp_lcnet
            pp_lcnet_v3 pp_lcnet_v4 pp_ocrv5_mobile_det pp_ocrv5_mobile_rec pp_ocrv5_server_det
            pp_ocrv5_server_rec pp_ocrv6_medium_det pp_ocrv6_small_det pp_ocrv6_small_rec
            pp_ocrv6_tiny_rec regnet resnet rt_detr_resnet slanet superpoint swiftformer textnet
            uvdoc uvdoc_backbone
        """),
        RECURRENT: names_in("falcon_mamba mamba mamba2 rwkv xlstm"),
        HYBRID: names_in("""
            glm5_next glm5_next_text jamba kimi_linear nemotron_h nemotron_h_omni zamba
        """),
        BY_CONVOLUTION: names_in("cvt glpn pvt_v2 segformer"),
        IN_TWO: names_in("levit"),
        TURNED_IN_TWO: names_in("""
            cohere_compass_vision dinov3_vit dots3_note_vision_encoder edgetam_video
            efficientloftr eomt_dinov3 ernie4_5_vl_moe_vision exaone4_5_vision gemma4_vision
            glm4v_moe_vision glm4v_vision glm5_next_vision glm_ocr_vision inkling2_vision
            kimi_k25_vision lfm3_vl_vision llama4_vision_model minimax_m3_vl_vision mlcd
            mlcd_vision_model muse_glimmer_vision muse_spark_vision paddleocr_vl_vision pixtral
            qwen2_5_omni_vision_encoder qwen2_5_vl_vision qwen2_vl_vision qwen3_5_moe_vision
            qwen3_5_vision qwen3_omni_moe_vision_encoder qwen3_vl_moe_vision qwen3_vl_vision
            qwen4_exp_vision sam2_video sapiens2 step3p5_vision video_llama_3_vision vjepa2
        """),
        WITHIN: names_in("""
            cpmant funnel inkling2 inkling2_text inkling_mm_model inkling_text transfo-xl xlnet
        """),
        SEVERAL: names_in("""
            depth_pro florence_vision kosmos_2_5_vision_model mllama_vision_model perceiver
            pix2struct_vision_model reformer sam2 sam2_hiera_det_model sam2_vision_model
        """),
        NOT_COMPARED: names_in("""
            deepseek_ocr2_sam_vision_model eomt gemma4_unified_vision idefics_vision
            molmo2_vision phi4_multimodal_vision pp_chart2table_vision pp_formulanet
            pp_formulanet_text pp_formulanet_vision sam3_lite_text_text_model slanext
            slanext_vision unlimited_ocr_sam_vision_model videomt vitpose vitpose_backbone
        """),
        SPACE_TIME: names_in("inkling_vision videomae vivit"),
        COMPUTED_IN_TWO: names_in("""
            d_fine deimv2 mask2former oneformer pp_doclayout_v2 pp_doclayout_v3 pp_doclayout_v4
            rt_detr rt_detr_v2
        """),
        SERIES: names_in("""
            autoformer esmfold2 informer lightglue patchtsmixer patchtst superglue
            time_series_transformer timesfm
        """),
        AUDIO: names_in("""
            audio-spectrogram-transformer audioflamingo3_encoder canary canary_decoder
            clap_audio_model clvp clvp_decoder clvp_encoder cohere_asr dac data2vec-audio dia
            encodec fastspeech2_conformer fastspeech2_conformer_hifigan
            fastspeech2_conformer_with_hifigan fun_asr_nano_encoder gemma3n_audio gemma4_audio
            gemma4_unified_audio granite_speech5_ctc granite_speech5_encoder
            granite_speech_encoder granite_speech_plus_encoder hubert inkling_audio lasr_ctc
            moonshine_streaming_encoder moshi_depth moss_transcribe_diarize_audio
            muse_spark_audio musicgen musicgen_decoder musicgen_melody musicgen_melody_decoder
            nemo_speechlm nemotron3_5_asr nemotron3_5_transcribe_audio nemotron3_diarization
            nemotron_asr_streaming nemotron_asr_streaming_encoder parakeet_ctc parakeet_encoder
            parakeet_rnnt parakeet_tdt phi4_multimodal_audio qwen2_5_omni_audio_encoder
            qwen2_5_omni_bigvgan qwen2_5_omni_dit qwen2_5_omni_token2wav qwen2_audio_encoder
            qwen3_asr_encoder qwen3_omni_moe_audio_encoder seamless_m4t seamless_m4t_v2 sew
            sew-d speecht5 speecht5_hifigan unispeech unispeech-sat univnet
            vibevoice_acoustic_tokenizer vibevoice_acoustic_tokenizer_decoder
            vibevoice_acoustic_tokenizer_encoder vibevoice_diffusion vits voxtral_encoder
            wav2vec2 wav2vec2-bert wav2vec2-conformer wavlm xcodec
        """),
        PART: names_in("""
            blip_2_qformer deepseek_ocr2_vision edgetam_mask_decoder edgetam_prompt_encoder
            edgetam_video_mask_decoder edgetam_video_prompt_encoder flava_multimodal_model
            git_vision_model idefics2_perceiver idefics_perciever instructblip_qformer
            instructblipvideo_qformer molmo2_adapter sam2_mask_decoder sam2_prompt_encoder
            sam2_video_mask_decoder sam2_video_prompt_encoder sam3_detr_decoder
            sam3_detr_encoder sam3_geometry_encoder sam3_lite_text_detr_decoder
            sam3_lite_text_detr_encoder sam3_lite_text_geometry_encoder
            sam3_lite_text_mask_decoder sam3_mask_decoder sam3_tracker_mask_decoder
            sam3_tracker_prompt_encoder sam3_tracker_video_mask_decoder
            sam3_tracker_video_prompt_encoder sam_hq_mask_decoder sam_hq_prompt_encoder
            sam_mask_decoder sam_prompt_encoder sapiens2_head unlimited_ocr_vision
            unlimited_ocr_vision_encoder videoprism_text_model
        """),
        WHOLE: names_in("""
            blt jev qwen2_5_omni qwen3_omni_moe rag sam3_video tipsv2_dpt upernet zoedepth chmv2
        """),
        PACKAGE: names_in("""
            conditional_detr dab-detr deformable_detr detr dinat edgetam edgetam_vision_model
            gemma3n_vision higgs_audio_v2_tokenizer layoutlmv2 layoutxlm omdet-turbo
            table-transformer timm_backbone timm_wrapper
        """),
        BROKEN: names_in("nougat"),
    }
)
"""The ``model_type`` of transformers by reason."""

LEFT_OUT: Mapping[str, str] = MappingProxyType(
    {kind: reason for reason, kinds in BY_REASON.items() for kind in kinds}
)
"""Reason by ``model_type`` of transformers."""

WITHOUT_TABLE_OF_ANY_KIND = frozenset(
    (NONE_NEEDED, RECURRENT, HYBRID, BY_CONVOLUTION, IN_TWO, TURNED_IN_TWO, WITHIN, COMPUTED_IN_TWO)
)
"""Reasons of models without a table: none of their tensors is offered as one."""
