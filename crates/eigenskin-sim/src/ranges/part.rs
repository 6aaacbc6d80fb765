//! Which part of a body a joint is, by its name: WebXR hands, VRM, Mixamo, the Unreal mannequin,
//! rigify, and plain words such as "leg_joint_L_2".

use eigenskin_core::skeleton::Skeleton;

/// A part of a body, named after the joint at its beginning (the knee is the lower leg's joint).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Part {
    /// hips, pelvis, root
    Hips,
    /// spine, chest, torso
    Spine,
    /// neck
    Neck,
    /// head
    Head,
    /// collar bone
    Clavicle,
    /// upper arm: the shoulder joint
    UpperArm,
    /// lower arm: the elbow
    LowerArm,
    /// hand: the wrist
    Hand,
    /// upper leg: the hip joint
    UpperLeg,
    /// lower leg: the knee
    LowerLeg,
    /// foot: the ankle
    Foot,
    /// toes
    Toes,
    /// bone of the palm
    Metacarpal,
    /// first bone of a finger: the knuckle
    FingerProximal,
    /// second bone of a finger
    FingerIntermediate,
    /// last bone of a finger
    FingerDistal,
    /// the thumb's base
    ThumbMetacarpal,
    /// second bone of the thumb
    ThumbProximal,
    /// last bone of the thumb
    ThumbDistal,
    /// lower jaw
    Jaw,
    /// tail, ear, tentacle: anything that sways
    Appendage,
    /// end marker, eye, twist or other helper: does not bend the skin
    Still,
    /// nothing known
    Unknown,
}

/// Left or right of the body.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Side {
    /// the character's left
    Left,
    /// the character's right
    Right,
    /// neither, or not said
    Middle,
}

/// What a joint is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Place {
    /// part of the body
    pub part: Part,
    /// side of the body
    pub side: Side,
}

/// `joint` → what it is, from its name and from what it hangs on.
pub fn places(skeleton: &Skeleton) -> Vec<Place> {
    let mut places = vec![Place { part: Part::Unknown, side: Side::Middle }; skeleton.joint_count()];
    let mut limbs: Vec<Limb> = vec![Limb::default(); skeleton.joint_count()];
    for &joint in skeleton.references_first() {
        let words = words_of(&skeleton.joints()[joint].name);
        let reference = skeleton.joints()[joint].reference;
        let before = reference.map_or(Limb::default(), |reference| limbs[reference]);
        let side = side_of(&words);
        let (part, limb) = part_of(&words, before);
        places[joint] = Place { part, side };
        limbs[joint] = limb;
    }
    places
}

/// How far along a limb a joint is, counted from the body: "leg 2" is a knee.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
struct Limb {
    kind: Option<LimbKind>,
    joints_so_far: usize,
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum LimbKind {
    Arm,
    Leg,
    Finger,
    Thumb,
}

impl LimbKind {
    /// Its parts from the body outwards.
    fn parts(self) -> &'static [Part] {
        match self {
            Self::Arm => &[Part::UpperArm, Part::LowerArm, Part::Hand],
            Self::Leg => &[Part::UpperLeg, Part::LowerLeg, Part::Foot, Part::Toes],
            Self::Finger => &[Part::FingerProximal, Part::FingerIntermediate, Part::FingerDistal],
            Self::Thumb => &[Part::ThumbMetacarpal, Part::ThumbProximal, Part::ThumbDistal],
        }
    }
}

/// Lower-case words: split at signs, digits and capitals ("b_LeftUpperArm_09" → left, upper, arm).
fn words_of(name: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut before = ' ';
    for c in name.chars() {
        let starts_word = c.is_uppercase() && !before.is_uppercase();
        if !c.is_alphabetic() || starts_word {
            words.push(String::new());
        }
        if c.is_alphabetic() {
            words.last_mut().into_iter().for_each(|word| word.extend(c.to_lowercase()));
        }
        before = c;
    }
    words.retain(|word| !word.is_empty());
    words
}

fn side_of(words: &[String]) -> Side {
    let has = |list: &[&str]| words.iter().any(|word| list.contains(&word.as_str()));
    if has(&["left", "l", "lft"]) {
        Side::Left
    } else if has(&["right", "r", "rgt"]) {
        Side::Right
    } else {
        Side::Middle
    }
}

/// Words that decide, the more special ones first.
fn part_of(words: &[String], before: Limb) -> (Part, Limb) {
    let joined = words.concat();
    let says = |part: &str| joined.contains(part);
    let word = |list: &[&str]| words.iter().any(|w| list.contains(&w.as_str()));
    let plain = |part: Part| (part, Limb::default());
    let along = |kind: LimbKind, part: Part| {
        let index = kind.parts().iter().position(|&p| p == part).unwrap_or(0);
        (part, Limb { kind: Some(kind), joints_so_far: index + 1 })
    };
    let next = |kind: LimbKind| {
        let index = if before.kind == Some(kind) { before.joints_so_far } else { 0 };
        match kind.parts().get(index) {
            Some(&part) => along(kind, part),
            None => (Part::Still, before),
        }
    };

    // The side-independent helpers come first: "upperarm_twist_01" is no upper arm.
    if word(&[
        "twist", "roll", "ik", "eye", "eyes", "tip", "end", "nub", "helper", "weapon", "pole", "target",
    ]) || says("twist")
    {
        return (Part::Still, before);
    }
    if says("thumb") {
        return match () {
            () if says("metacarpal") => along(LimbKind::Thumb, Part::ThumbMetacarpal),
            () if says("distal") => along(LimbKind::Thumb, Part::ThumbDistal),
            // WebXR and VRM 1 have a metacarpal before it, VRM 0 has not.
            () if says("proximal") && before.kind == Some(LimbKind::Thumb) => {
                along(LimbKind::Thumb, Part::ThumbProximal)
            }
            () => next(LimbKind::Thumb),
        };
    }
    let finger = ["index", "middle", "ring", "pinky", "little", "finger"].iter().any(|f| says(f));
    if finger && !says("toe") {
        return match () {
            () if says("metacarpal") || says("palm") => (Part::Metacarpal, Limb::default()),
            () if says("proximal") => along(LimbKind::Finger, Part::FingerProximal),
            () if says("intermediate") => along(LimbKind::Finger, Part::FingerIntermediate),
            () if says("distal") => along(LimbKind::Finger, Part::FingerDistal),
            () => next(LimbKind::Finger),
        };
    }
    if says("palm") || says("metacarpal") {
        return plain(Part::Metacarpal);
    }
    if says("clavicle") || says("collar") || (says("shoulder") && !says("arm")) {
        return plain(Part::Clavicle);
    }
    // A second joint of the same part is its continuation: rigify cuts limbs in two.
    let limb = |kind: LimbKind, part: Part| {
        let index = kind.parts().iter().position(|&p| p == part).unwrap_or(0);
        let again = before.kind == Some(kind) && before.joints_so_far == index + 1;
        if again { (Part::Still, before) } else { along(kind, part) }
    };
    match () {
        () if says("upperarm") || says("uparm") => limb(LimbKind::Arm, Part::UpperArm),
        () if says("forearm") || says("lowerarm") || says("elbow") => limb(LimbKind::Arm, Part::LowerArm),
        () if says("wrist") || word(&["hand"]) || says("hand") => limb(LimbKind::Arm, Part::Hand),
        () if says("upperleg") || says("upleg") || says("thigh") => limb(LimbKind::Leg, Part::UpperLeg),
        () if says("lowerleg") || says("shin") || says("calf") || says("knee") => {
            limb(LimbKind::Leg, Part::LowerLeg)
        }
        () if says("toe") || says("ball") => along(LimbKind::Leg, Part::Toes),
        () if says("foot") || says("ankle") => {
            let ankle_seen = before.kind == Some(LimbKind::Leg) && before.joints_so_far >= 3;
            along(LimbKind::Leg, if ankle_seen { Part::Toes } else { Part::Foot })
        }
        () if word(&["arm"]) => next(LimbKind::Arm),
        () if word(&["leg"]) => next(LimbKind::Leg),
        () if word(&["jaw", "chin"]) => plain(Part::Jaw),
        () if says("head") => plain(Part::Head),
        () if says("neck") => plain(Part::Neck),
        () if says("spine") || says("chest") || says("torso") || says("waist") || says("abdomen") => {
            plain(Part::Spine)
        }
        () if says("hips") || word(&["hip", "pelvis", "root", "cog"]) || says("pelvis") => plain(Part::Hips),
        () if word(&["tail", "ear", "antenna", "tentacle", "wing", "fin", "trunk"]) || says("tail") => {
            plain(Part::Appendage)
        }
        () => plain(Part::Unknown),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use eigenskin_core::glam::DAffine3;
    use eigenskin_core::skeleton::Joint;

    fn chain(names: &[&str]) -> Vec<Place> {
        let joint = |(index, name): (usize, &&str)| Joint {
            name: (*name).into(),
            parent: index.checked_sub(1),
            reference: None,
            joint_from_rest: DAffine3::IDENTITY,
        };
        places(&Skeleton::new(names.iter().enumerate().map(joint).collect()).unwrap())
    }

    fn parts(names: &[&str]) -> Vec<Part> {
        chain(names).iter().map(|place| place.part).collect()
    }

    #[test]
    fn limbs_of_common_rigs_are_recognised() {
        use Part::{
            Clavicle, FingerDistal, FingerIntermediate, FingerProximal, Foot, Hand, Hips, LowerArm, LowerLeg,
            Metacarpal, Still, Toes, UpperArm, UpperLeg,
        };
        let arm = [Clavicle, UpperArm, LowerArm, Hand];
        for names in [
            ["mixamorig:LeftShoulder", "mixamorig:LeftArm", "mixamorig:LeftForeArm", "mixamorig:LeftHand"],
            ["J_Bip_L_Shoulder", "J_Bip_L_UpperArm", "J_Bip_L_LowerArm", "J_Bip_L_Hand"],
            ["clavicle_l", "upperarm_l", "lowerarm_l", "hand_l"],
            ["DEF-shoulder.L", "DEF-upper_arm.L", "DEF-forearm.L", "DEF-hand.L"],
        ] {
            assert_eq!(parts(&names), arm, "{names:?}");
            assert!(chain(&names).iter().all(|place| place.side == Side::Left), "{names:?}");
        }
        let leg = [Hips, UpperLeg, LowerLeg, Foot, Toes];
        for names in [
            [
                "mixamorig:Hips",
                "mixamorig:RightUpLeg",
                "mixamorig:RightLeg",
                "mixamorig:RightFoot",
                "mixamorig:RightToeBase",
            ],
            ["pelvis", "thigh_r", "calf_r", "foot_r", "ball_r"],
            ["J_Bip_C_Hips", "J_Bip_R_UpperLeg", "J_Bip_R_LowerLeg", "J_Bip_R_Foot", "J_Bip_R_ToeBase"],
            ["root", "leg_joint_R_1", "leg_joint_R_2", "leg_joint_R_3", "leg_joint_R_5"],
        ] {
            assert_eq!(parts(&names), leg, "{names:?}");
            assert!(chain(&names)[1..].iter().all(|place| place.side == Side::Right), "{names:?}");
        }
        assert_eq!(
            parts(&[
                "b_Hip_01",
                "b_LeftLeg01_015",
                "b_LeftLeg02_016",
                "b_LeftFoot01_017",
                "b_LeftFoot02_018"
            ]),
            leg
        );
        let finger = [Metacarpal, FingerProximal, FingerIntermediate, FingerDistal, Still];
        assert_eq!(
            parts(&[
                "index-finger-metacarpal",
                "index-finger-phalanx-proximal",
                "index-finger-phalanx-intermediate",
                "index-finger-phalanx-distal",
                "index-finger-tip"
            ]),
            finger
        );
        assert_eq!(
            parts(&[
                "mixamorig:LeftHandIndex1",
                "mixamorig:LeftHandIndex2",
                "mixamorig:LeftHandIndex3",
                "mixamorig:LeftHandIndex4"
            ]),
            finger[1..]
        );
        assert_eq!(parts(&["index_01_l", "index_02_l", "index_03_l"]), finger[1..4]);
    }

    #[test]
    fn helpers_and_second_halves_stay_still() {
        assert_eq!(
            parts(&["upperarm_l", "upperarm_twist_01_l", "lowerarm_l"]),
            [Part::UpperArm, Part::Still, Part::LowerArm]
        );
        assert_eq!(
            parts(&["DEF-thigh.L", "DEF-thigh.L.001", "DEF-shin.L", "DEF-shin.L.001", "DEF-foot.L"]),
            [Part::UpperLeg, Part::Still, Part::LowerLeg, Part::Still, Part::Foot]
        );
    }

    #[test]
    fn thumbs_have_a_base_and_two_bones() {
        let thumb = [Part::ThumbMetacarpal, Part::ThumbProximal, Part::ThumbDistal];
        assert_eq!(parts(&["thumb-metacarpal", "thumb-phalanx-proximal", "thumb-phalanx-distal"]), thumb);
        assert_eq!(parts(&["LeftHandThumb1", "LeftHandThumb2", "LeftHandThumb3"]), thumb);
        assert_eq!(parts(&["Bone", "Bone.001"]), [Part::Unknown, Part::Unknown]);
    }
}
